"""The objects of OpenAI's Responses, and the numbered events that a turn's pieces become."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.api import pieces
from hermes_jobs.features.api.asking import MODEL, WaitingCall, waiting_calls
from hermes_jobs.kernel.views.turn_json import ListedTurnJson, UsageJson

PREFIX = "resp_"
BLOCK = 1 << 20
"""Numbers of one block: the first ones are those of the text, counted in characters, then comes the rest;
from `TAIL` on its end and its calls, from `BELOW` on what sub-agents ask before the next one."""
TAIL = BLOCK - 100_000
BELOW = BLOCK - 50_000
STATUS = {
    "queued": "queued",
    "completed": "completed",
    "merged": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}
"""The statuses of turns in OpenAI's words; all others are `in_progress`."""


class OutputText(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a message."""

    text: str
    type: str = "output_text"
    annotations: tuple[str, ...] = ()


class ErrorText(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool said of its failure."""

    text: str
    type: str = "text"


class CallError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call has failed."""

    content: tuple[ErrorText, ...]
    type: str = "mcp_tool_execution_error"


class OutputItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A `message` of the agent, or an `mcp_call`: a call of a tool that was made here."""

    type: str
    id: str
    status: str
    role: str | None = None
    content: tuple[OutputText, ...] | None = None
    name: str | None = None
    arguments: str | None = None
    server_label: str | None = None
    output: str | None = None
    error: CallError | None = None


class ResponseUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of all model calls of the turn."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: dict[str, int]
    output_tokens_details: dict[str, int]


class ResponseError(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no answer."""

    code: str
    message: str


class ResponseHermes(msgspec.Struct, frozen=True, kw_only=True):
    """What a response says besides: its turn, session and cost, and what waits for a person."""

    turn: str
    session: str
    cost_usd: float | None
    waiting: tuple[WaitingCall, ...]


class ResponseJson(msgspec.Struct, frozen=True, kw_only=True):
    """A turn as a response."""

    id: str
    created_at: int
    status: str
    model: str
    output: tuple[OutputItem, ...]
    error: ResponseError | None
    incomplete_details: dict[str, str] | None
    previous_response_id: str | None
    usage: ResponseUsage | None
    background: bool
    hermes: ResponseHermes
    object: str = "response"
    instructions: str | None = None
    metadata: Mapping[str, str] = {}
    parallel_tool_calls: bool = True
    temperature: float | None = None
    tool_choice: str = "auto"
    tools: tuple[str, ...] = ()
    top_p: float | None = None


class ResponseEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event of a stream. `sequence_number` only grows; it has gaps."""

    type: str
    sequence_number: int
    response: ResponseJson | None = None
    output_index: int | None = None
    content_index: int | None = None
    item_id: str | None = None
    item: OutputItem | None = None
    part: OutputText | None = None
    delta: str | None = None
    text: str | None = None
    logprobs: tuple[str, ...] | None = None
    waiting: tuple[WaitingCall, ...] | None = None
    answered: str | None = None
    allowed: bool | None = None


class ResponseWriter:
    """Makes the items and events of one turn from its pieces, in their order."""

    def __init__(self, turn: str) -> None:
        self._turn = turn
        self._items: list[OutputItem] = []
        self._message: int | None = None  # the place of the message that is being written
        self._calls: dict[str, int] = {}
        self.waiting: tuple[WaitingCall, ...] = ()

    @property
    def output(self) -> tuple[OutputItem, ...]:
        """The items so far."""
        return tuple(self._items)

    def take(self, piece: pieces.Piece) -> Iterator[ResponseEvent]:
        """The events of the next piece; none for the end, which has the whole response."""
        number = piece.block * BLOCK + 1
        if isinstance(piece, pieces.Waits | pieces.Answered) and piece.below:
            number = (piece.block - 1) * BLOCK + BELOW + piece.below
        match piece:
            case pieces.TextPiece():
                yield from self._opened(piece.block)
                yield self._delta(piece)
            case pieces.Reply():
                yield from self._closed(piece)
                yield from self._called(piece)
            case pieces.CallDone() if piece.call in self._calls:
                at = self._calls[piece.call]
                status = "completed" if piece.ok else "failed"
                error = None if piece.ok else CallError(content=(ErrorText(text=piece.text),))
                output = piece.text if piece.ok else None
                self._items[at] = replace(self._items[at], status=status, output=output, error=error)
                yield self._item("response.output_item.done", number, at)
            case pieces.Waits():
                new = waiting_calls(piece)
                self.waiting += new
                yield ResponseEvent(type="hermes.waiting", sequence_number=number, waiting=new)
            case pieces.Answered() if any(each.call == piece.call for each in self.waiting):
                self.waiting = tuple(each for each in self.waiting if each.call != piece.call)
                yield ResponseEvent(
                    type="hermes.answered", sequence_number=number, answered=piece.call, allowed=piece.allowed
                )
            case pieces.Ended():
                self.waiting = tuple(each for each in self.waiting if each.turn != self._turn)
            case pieces.CallDone() | pieces.Answered():
                pass  # an answer to nothing is that of a rule
            case _:
                assert_never(piece)

    def _opened(self, block: int) -> Iterator[ResponseEvent]:
        """The message of the block, where it is not begun."""
        if self._message is not None:
            return
        self._message = len(self._items)
        name = f"msg_{self._turn}-{block}"
        item = OutputItem(type="message", id=name, status="in_progress", role="assistant", content=())
        self._items.append(item)
        yield self._item("response.output_item.added", block * BLOCK + 1, self._message)
        yield self._part("response.content_part.added", block * BLOCK + 2, part=OutputText(text=""))

    def _delta(self, piece: pieces.TextPiece) -> ResponseEvent:
        end = min(2 + piece.at + len(piece.text), TAIL - 1)
        number = piece.block * BLOCK + end
        return self._part("response.output_text.delta", number, delta=piece.text, logprobs=())

    def _closed(self, reply: pieces.Reply) -> Iterator[ResponseEvent]:
        if not reply.text:
            return
        yield from self._opened(reply.block)
        assert self._message is not None
        at, number, part = self._message, reply.block * BLOCK + TAIL, OutputText(text=reply.text)
        status = "incomplete" if reply.is_cut else "completed"
        self._items[at] = replace(self._items[at], status=status, content=(part,))
        yield self._part("response.output_text.done", number, text=reply.text, logprobs=())
        yield self._part("response.content_part.done", number + 1, part=part)
        yield self._item("response.output_item.done", number + 2, at)
        self._message = None

    def _called(self, reply: pieces.Reply) -> Iterator[ResponseEvent]:
        for place, call in enumerate(reply.calls):
            self._calls[call.id] = at = len(self._items)
            item = OutputItem(
                type="mcp_call",
                id=call.id,
                status="in_progress",
                name=call.name,
                arguments=call.arguments,
                server_label=MODEL,
            )
            self._items.append(item)
            yield self._item("response.output_item.added", reply.block * BLOCK + TAIL + 3 + place, at)

    def _item(self, kind: str, number: int, at: int) -> ResponseEvent:
        return ResponseEvent(type=kind, sequence_number=number, output_index=at, item=self._items[at])

    def _part(self, kind: str, number: int, **fields: Any) -> ResponseEvent:
        assert self._message is not None
        return ResponseEvent(
            type=kind,
            sequence_number=number,
            output_index=self._message,
            content_index=0,
            item_id=self._items[self._message].id,
            **fields,
        )


def behind(event: ResponseEvent, after: int) -> ResponseEvent | None:
    """What of the event a client lacks that has all up to the number `after`; None for nothing."""
    if event.sequence_number <= after:
        return None
    if event.delta is None or after < event.sequence_number - len(event.delta):
        return event
    return replace(event, delta=event.delta[after - event.sequence_number :])


class Asked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the request of a response said that its answers say again. Kept with the turn."""

    previous_response_id: str | None = None
    background: bool = False
    metadata: Mapping[str, str] = {}


def response_json(turn: ListedTurnJson, writer: ResponseWriter, asked: Asked) -> ResponseJson:
    """The response as it is now. What it used is said when it has ended, as OpenAI's says it."""
    is_cut = turn.status == "completed" and turn.stopped_by is not None
    error = None
    if turn.error is not None:
        message = f"{turn.error.message} {turn.error.hint}".rstrip()
        error = ResponseError(code=turn.error.kind, message=message)
    status = "incomplete" if is_cut else STATUS.get(turn.status, "in_progress")
    ended = status not in ("queued", "in_progress")
    return ResponseJson(
        id=PREFIX + turn.turn,
        created_at=int(datetime.fromisoformat(turn.submitted_at).timestamp()),
        status=status,
        model=turn.model or MODEL,  # none before its first step
        output=writer.output,
        error=error,
        incomplete_details={"reason": str(turn.stopped_by)} if is_cut else None,
        previous_response_id=asked.previous_response_id,
        usage=usage_of(turn.usage) if ended else None,
        background=asked.background,
        metadata=asked.metadata,
        hermes=ResponseHermes(
            turn=turn.turn,
            session=turn.session,
            cost_usd=turn.cost_usd if ended else None,
            waiting=writer.waiting,
        ),
    )


def usage_of(usage: UsageJson) -> ResponseUsage:
    """The usage in OpenAI's form."""
    return ResponseUsage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        input_tokens_details={"cached_tokens": usage.cache_read_tokens},
        output_tokens_details={"reasoning_tokens": usage.reasoning_tokens},
    )
