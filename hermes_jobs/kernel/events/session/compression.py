"""Events of the context's size: warnings and compressions."""

from __future__ import annotations

from typing import Literal

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.usage import Reservation
from hermes_jobs.kernel.turns.messages import Message

CompressionReason = Literal["hygiene", "threshold", "overflow", "refused", "manual", "idle"]


class ContextPressure(Event, frozen=True, kw_only=True):
    """The context is close to `threshold`, at which it is compressed, or (`high` false) not close to it
    again.

    `advice`: what the user can do where system prompt and tools fill the window.
    """

    turn: str
    tokens: int
    threshold: int
    window: int
    high: bool = True
    advice: str = ""


class CompressionRequested(Event, frozen=True, kw_only=True):
    """A compression before the next model call was requested. `tokens` estimates the history's size, in a
    window of `window`; `focus` is the summary's main subject. Reason `refused`: the model refused, without
    naming a limit, a request larger than the last one it accepted; `refusal` is its message. Reason `idle`:
    it saves money if the session still rests at `not_before` (seconds since the epoch), shortly before its
    cached prompt ends; the next text drops it.
    """

    turn: str | None
    reason: CompressionReason
    tokens: int = 0
    window: int = 0
    focus: str = ""
    refusal: str = ""
    not_before: float = 0.0


class CompressionStarted(Event, frozen=True, kw_only=True):
    """A worker started the flush or the summary. `reserved`: the reservation for its model calls."""

    turn: str | None
    step: str
    attempt: int
    reserved: Reservation | None = None


class ContextFlushed(Event, frozen=True, kw_only=True):
    """The conversation was searched for entries worth storing in memory, before its compression.

    `saved`: the answer of the memory tool; `message`: the reason of a failure.
    """

    turn: str | None
    step: str
    saved: str = ""
    message: str = ""


class ContextCompressed(Event, frozen=True, kw_only=True):
    """The history is `messages` from here on: `removed` messages were replaced by `summary`, "" where none
    could be made. The session continues as `into`; `number` counts the lineage's compressions, `in_vain`
    those in a row, this one included, that had no real effect. Sizes are those of whole requests, in tokens.
    `failures`: the models that failed to summarise, with reasons.
    """

    turn: str | None
    step: str
    into: str
    removed: int
    summary: str
    messages: tuple[Message, ...]
    number: int
    tokens_before: int
    tokens_after: int
    in_vain: int = 0
    failures: str = ""


class CompressionFailed(Event, frozen=True, kw_only=True):
    """A compression failed and the history is unchanged; it is retried at `retry_at` if that is set. `hint`:
    what the user can do.
    """

    turn: str | None
    step: str
    attempt: int
    kind: str
    message: str
    retry_at: float | None = None
    hint: str = ""


CompressionEvent = (
    ContextPressure
    | CompressionRequested
    | CompressionStarted
    | ContextFlushed
    | ContextCompressed
    | CompressionFailed
)
