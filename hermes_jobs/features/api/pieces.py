"""A turn as it goes on, in numbered pieces: the same numbers however often, and from wherever, it is read.

A block is what lies between two recorded events of the turn. The text of a reply is the text of the block
that its event ends, and a piece of text is numbered by its place there. So a client that was cut off names
the last number that it has, and gets the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, assert_never

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.live import LiveTranscript, TextDelta
from hermes_jobs.kernel.turns.messages import ToolCall

if TYPE_CHECKING:
    from hermes_jobs.features.serve.api import Site
    from hermes_jobs.kernel.engine.engine import Submitted
    from hermes_jobs.kernel.log.log import RecordedEvent


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
    ok: bool
    text: str


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """A call waits for a person's decision or answer, until `expires_at`."""

    block: int
    asked: e.ApprovalRequested | e.InputRequested


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A person has decided or answered; or nobody did in time."""

    block: int
    call: str
    by: str
    allowed: bool


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The turn has ended. Nothing follows."""

    block: int


Piece = TextPiece | Reply | CallDone | Waits | Answered | Ended
_Of = (
    e.ModelReplied | e.ModelCallFailed | e.StepAbandoned | e.ToolFinished | e.ToolInterrupted
    | e.ApprovalRequested | e.InputRequested | e.ApprovalGiven | e.ApprovalDenied | e.InputAnswered
    | e.TurnCompleted | e.TurnFailed | e.TurnCancelled | e.TurnMerged
)  # fmt: skip


class TurnReader:
    """Makes pieces of the events and deltas of one turn. For one thread."""

    def __init__(self, turn: str) -> None:
        self._turn = turn
        self._block = 1
        self._sent = ""  # the text of this block
        self._model_call = ("", 0)  # the step and attempt that writes it
        self._transcript = LiveTranscript()
        self._early: list[TextDelta] = []  # of a call whose start was not read yet

    def backlog(self, recorded: Iterable[e.Event]) -> Iterator[Piece]:
        """The pieces of all events so far. An end after which the turn was resumed is none."""
        events = [event for event in recorded if getattr(event, "turn", None) == self._turn]
        resumed = max((at for at, event in enumerate(events) if isinstance(event, e.TurnResumed)), default=-1)
        for at, event in enumerate(events):
            pieces = self.event(event)
            yield from (piece for piece in pieces if at > resumed or not isinstance(piece, Ended))

    def event(self, event: e.Event) -> Iterator[Piece]:
        """The pieces of the next event."""
        if getattr(event, "turn", None) != self._turn:
            return
        if isinstance(event, e.ModelCallStarted):
            self._model_call, self._transcript = (event.step, event.attempt), LiveTranscript()
            early, self._early = self._early, []
            for delta in early:
                yield from self.delta(delta)
        elif isinstance(event, _Of) and self._counts(event):
            yield from self._pieces(event)
            self._block, self._sent, self._model_call = self._block + 1, "", ("", 0)

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
                calls = (
                    msgspec.structs.replace(call, id=f"{event.step}-{place}")
                    for place, call in enumerate(event.tool_calls)
                )
                yield Reply(block=block, text=event.content, calls=tuple(calls))
            case e.ModelCallFailed() | e.StepAbandoned():
                if self._sent:
                    yield Reply(block=block, text=self._sent, is_cut=True)
            case e.ToolFinished():
                yield CallDone(block=block, call=event.call, ok=event.ok, text=event.content)
            case e.ToolInterrupted():
                yield CallDone(block=block, call=event.call, ok=False, text=f"Interrupted: {event.reason}.")
            case e.ApprovalRequested() | e.InputRequested():
                yield Waits(block=block, asked=event)
            case e.ApprovalGiven() | e.ApprovalDenied():
                allowed = isinstance(event, e.ApprovalGiven)
                yield Answered(block=block, call=event.call, by=event.by, allowed=allowed)
            case e.InputAnswered():
                yield Answered(block=block, call=event.call, by=event.by, allowed=event.action == "accept")
            case e.TurnCompleted() | e.TurnFailed() | e.TurnCancelled() | e.TurnMerged():
                yield Ended(block=block)
            case _:
                assert_never(event)


async def pieces(site: Site, submitted: Submitted) -> AsyncIterator[Piece]:
    """The pieces of a turn from its beginning until its end."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[TextDelta | RecordedEvent] = asyncio.Queue()
    reader, log = TurnReader(submitted.turn), site.application.log

    def on_delta(delta: TextDelta) -> None:
        loop.call_soon_threadsafe(arrived.put_nowait, delta)

    leave = site.live.subscribe(submitted.turn, on_delta)
    following: asyncio.Task[None] | None = None
    try:
        position = await asyncio.to_thread(log.last_position)
        recorded = await asyncio.to_thread(lambda: list(log.read(submitted.stream)))
        version = max((each.version for each in recorded), default=0)
        for piece in reader.backlog(each.event for each in recorded):
            yield piece
            if isinstance(piece, Ended):
                return
        following = asyncio.create_task(_follow(site, submitted.stream, position, arrived))
        while True:
            news = await arrived.get()
            if isinstance(news, TextDelta):
                new: Iterator[Piece] = reader.delta(news)
            elif news.version <= version:
                continue
            else:
                version, new = news.version, reader.event(news.event)
            for piece in new:
                yield piece
                if isinstance(piece, Ended):
                    return
    finally:
        leave()
        if following is not None:
            following.cancel()


async def _follow(
    site: Site, stream: str, position: int, arrived: asyncio.Queue[TextDelta | RecordedEvent]
) -> None:
    """Put the new events of the stream into the queue; a feed that ends, ends because it was too slow."""
    while True:
        async for recorded in site.feed.events(position):
            position = recorded.position
            if recorded.stream == stream:
                arrived.put_nowait(recorded)
