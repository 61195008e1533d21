"""A turn as it goes on, in numbered pieces: the same numbers however often, and from wherever, it is read.

A block is what lies between two recorded events of the turn. The text of a reply is the text of the block
that its event ends, and a piece of text is numbered by its place there. So a client that was cut off names
the last number that it has, and gets the rest. What waits for a person in the sub-agents of the turn are
pieces between two blocks: while a reply is written, such a piece is kept until its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, assert_never

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.live import LiveTranscript, TextDelta
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import stream_of

if TYPE_CHECKING:
    from hermes_jobs.features.serve.api import Site
    from hermes_jobs.kernel.events.recorded import RecordedEvent
    from hermes_jobs.kernel.log.log import EventLog
    from hermes_jobs.kernel.turns.submitted import Submitted


class TextPiece(msgspec.Struct, frozen=True, kw_only=True):
    """The next characters of the block's text, from `at` on."""

    block: int
    at: int
    text: str


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply is complete: its whole text, and the calls that are made now. `is_cut`: the attempt failed, and
    the text is what was seen of it; another one follows, or the turn ends."""

    block: int
    text: str
    calls: tuple[ToolCall, ...] = ()
    is_cut: bool = False


class CallDone(msgspec.Struct, frozen=True, kw_only=True):
    """A call has its result, of which `text` is what the model is given."""

    block: int
    call: str
    tool: str
    ok: bool
    text: str


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """A call, `tool` with `arguments`, waits for a person's decision or answer, until `asked.expires_at`.

    `below`: it is the call of a sub-agent, and the piece the n-th one of these before its block; 0: it is the
    turn's own.
    """

    block: int
    asked: e.ApprovalRequested | e.InputRequested
    tool: str
    arguments: str
    below: int = 0


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A person has decided or answered; or nobody did before the call ended. `below`: see `Waits`."""

    block: int
    call: str
    allowed: bool
    below: int = 0


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The turn has ended. Nothing follows."""

    block: int


Piece = TextPiece | Reply | CallDone | Waits | Answered | Ended
_Of = (
    e.ModelReplied | e.ModelCallFailed | e.StepAbandoned | e.ToolFinished | e.ToolInterrupted
    | e.ApprovalRequested | e.InputRequested | e.ApprovalGiven | e.ApprovalDenied | e.InputAnswered
    | e.TurnCompleted | e.TurnFailed | e.TurnCancelled | e.TurnMerged
)  # fmt: skip
_Asked = e.ApprovalRequested | e.InputRequested
_Given = e.ApprovalGiven | e.ApprovalDenied | e.InputAnswered
_Over = e.ToolFinished | e.ToolInterrupted | e.TurnEnd


class TurnReader:
    """Makes pieces of the events and deltas of one turn. For one thread."""

    def __init__(self, turn: str) -> None:
        self._turn = turn
        self._block = 1
        self._sent = ""  # the text of this block
        self._model_call = ("", 0)  # the step and attempt that writes it
        self._transcript = LiveTranscript()
        self._early: list[TextDelta] = []  # of a call whose start was not read yet
        self._turns = {turn}  # it, and those of its sub-agents
        self._calls: dict[str, ToolCall] = {}
        self._below = 0  # pieces of sub-agents before this block
        self._kept: list[Waits | Answered] = []  # of sub-agents, while a reply is written
        self._waiting: dict[str, str] = {}  # calls of sub-agents that wait, each with its turn

    def backlog(self, recorded: Iterable[e.Event]) -> Iterator[Piece]:
        """The pieces of all events so far. An end after which the turn was resumed is none."""
        events = list(recorded)
        resumptions = (
            at
            for at, event in enumerate(events)
            if isinstance(event, e.TurnResumed) and event.turn == self._turn
        )
        resumed = max(resumptions, default=-1)
        for at, event in enumerate(events):
            pieces = self.event(event)
            yield from (piece for piece in pieces if at > resumed or not isinstance(piece, Ended))

    def follows(self, event: e.Event) -> bool:
        """Whether the event is one of the turn, or of a sub-agent below it. To be asked of each, in order."""
        follows = getattr(event, "turn", None) in self._turns
        if follows and isinstance(event, e.ChildrenStarted):
            self._turns |= {child.turn for child in event.children}
        return follows

    def event(self, event: e.Event) -> Iterator[Piece]:
        """The pieces of the next event."""
        if not self.follows(event):
            return
        if event.turn != self._turn:  # type: ignore[attr-defined]
            yield from self._event_below(event)
        elif isinstance(event, e.ModelCallStarted):
            self._model_call, self._transcript = (event.step, event.attempt), LiveTranscript()
            early, self._early = self._early, []
            for delta in early:
                yield from self.delta(delta)
        elif isinstance(event, _Of) and self._counts(event):
            yield from self._pieces(event)
            self._block, self._sent, self._model_call = self._block + 1, "", ("", 0)
            self._below, kept, self._kept = 0, self._kept, []
            for piece in kept:
                yield self._numbered(piece)

    def _event_below(self, event: e.Event) -> Iterator[Waits | Answered]:
        """The pieces of the next event of a sub-agent."""
        for piece in self._asked_below(event):
            if self._model_call[0]:
                self._kept.append(piece)
            else:
                yield self._numbered(piece)

    def _numbered(self, piece: Waits | Answered) -> Waits | Answered:
        self._below += 1
        return msgspec.structs.replace(piece, block=self._block, below=self._below)

    def _asked_below(self, event: e.Event) -> Iterator[Waits | Answered]:
        if isinstance(event, e.ModelReplied):
            self._remember(event)
        elif isinstance(event, _Asked):
            self._waiting[event.call] = event.turn
            yield self._waits(event)
        elif isinstance(event, _Given):
            if self._waiting.pop(event.call, None) is not None:
                yield self._answered(event)
        elif isinstance(event, _Over):
            call = getattr(event, "call", None)
            over = [
                each
                for each, turn in self._waiting.items()
                if each == call or (not call and turn == event.turn)
            ]
            for each in over:
                del self._waiting[each]
                yield Answered(block=self._block, call=each, allowed=False)

    def _remember(self, event: e.ModelReplied) -> tuple[ToolCall, ...]:
        """The calls of the reply, by the ids that later events give them."""
        calls = tuple(
            msgspec.structs.replace(call, id=f"{event.step}-{place}")
            for place, call in enumerate(event.tool_calls)
        )
        self._calls |= {call.id: call for call in calls}
        return calls

    def _waits(self, asked: _Asked) -> Waits:
        call = self._calls.get(asked.call, ToolCall(asked.call, "", ""))
        return Waits(block=self._block, asked=asked, tool=call.name, arguments=call.arguments)

    def _answered(self, given: _Given) -> Answered:
        allowed = (
            given.action == "accept"
            if isinstance(given, e.InputAnswered)
            else isinstance(given, e.ApprovalGiven)
        )
        return Answered(block=self._block, call=given.call, allowed=allowed)

    def _done(self, call: str, ok: bool, text: str) -> CallDone:
        tool = self._calls[call].name if call in self._calls else ""
        return CallDone(block=self._block, call=call, tool=tool, ok=ok, text=text)

    def delta(self, delta: TextDelta) -> Iterator[TextPiece]:
        """The text that a delta adds."""
        if delta.tool:
            return
        if (delta.step, delta.attempt) != self._model_call:
            self._early.append(delta)
        elif self._transcript.add_delta(delta):
            yield from self._longer(self._transcript.text)

    def _longer(self, text: str) -> Iterator[TextPiece]:
        if len(text) > len(self._sent) and text.startswith(self._sent):
            yield TextPiece(block=self._block, at=len(self._sent), text=text[len(self._sent) :])
            self._sent = text

    def _counts(self, event: _Of) -> bool:
        """Whether the event ends a block: of the calls and steps, those that write the text."""
        if isinstance(event, e.ModelReplied):
            return event.purpose == "turn"
        if isinstance(event, e.ModelCallFailed | e.StepAbandoned):
            return event.step == self._model_call[0]
        return True

    def _pieces(self, event: _Of) -> Iterator[Piece]:
        block = self._block
        match event:
            case e.ModelReplied():
                yield from self._longer(event.content)
                yield Reply(block=block, text=event.content, calls=self._remember(event))
            case e.ModelCallFailed() | e.StepAbandoned():
                if self._sent:
                    yield Reply(block=block, text=self._sent, is_cut=True)
            case e.ToolFinished():
                yield self._done(event.call, event.ok, event.content)
            case e.ToolInterrupted():
                yield self._done(event.call, ok=False, text=f"Interrupted: {event.reason}.")
            case e.ApprovalRequested() | e.InputRequested():
                yield self._waits(event)
            case e.ApprovalGiven() | e.ApprovalDenied() | e.InputAnswered():
                yield self._answered(event)
            case e.TurnCompleted() | e.TurnFailed() | e.TurnCancelled() | e.TurnMerged():
                yield Ended(block=block)
            case _:
                assert_never(event)


def recorded_below(log: EventLog, submitted: Submitted) -> tuple[int, Sequence[e.Event]]:
    """The events of the turn's session and of its sub-agents', in order, and the position until which."""
    position = log.last_position()
    read: list[RecordedEvent] = []
    reader, streams = TurnReader(submitted.turn), [submitted.stream]
    for stream in streams:
        for recorded in log.read(stream):
            if recorded.position <= position:
                read.append(recorded)
                if reader.follows(recorded.event) and isinstance(recorded.event, e.ChildrenStarted):
                    streams += (stream_of(child.session) for child in recorded.event.children)
    read.sort(key=attrgetter("position"))
    return position, [recorded.event for recorded in read]


async def pieces(site: Site, submitted: Submitted) -> AsyncIterator[Piece]:
    """The pieces of a turn from its beginning until its end."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[TextDelta | e.Event] = asyncio.Queue()
    reader, log = TurnReader(submitted.turn), site.application.log

    def on_delta(delta: TextDelta) -> None:
        loop.call_soon_threadsafe(arrived.put_nowait, delta)

    leave = site.live.subscribe(submitted.turn, on_delta)
    following: asyncio.Task[None] | None = None
    try:
        position, recorded = await asyncio.to_thread(recorded_below, log, submitted)
        for piece in reader.backlog(recorded):
            yield piece
            if isinstance(piece, Ended):
                return
        following = asyncio.create_task(_follow(site, reader, position, arrived))
        while True:
            news = await arrived.get()
            for piece in reader.delta(news) if isinstance(news, TextDelta) else reader.event(news):
                yield piece
                if isinstance(piece, Ended):
                    return
    finally:
        leave()
        if following is not None:
            following.cancel()


async def _follow(
    site: Site, reader: TurnReader, position: int, arrived: asyncio.Queue[TextDelta | e.Event]
) -> None:
    """Put the reader's new events into the queue; a feed that ends, ends because it was too slow."""
    while True:
        async for recorded in site.feed.events(position):
            position = recorded.position
            if reader.follows(recorded.event):
                arrived.put_nowait(recorded.event)
