"""Events of the context's size: that it grows large, and how it was made smaller."""

from __future__ import annotations

from typing import Literal

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.session.messages import Message
from hermes_jobs.domain.usage import Reservation

CompressionReason = Literal["hygiene", "threshold", "overflow", "refused", "manual"]


class ContextPressure(Event, frozen=True, kw_only=True):
    """The context comes close to `threshold`, at which it is compressed, or (`high` false) no longer does.

    `advice`: what a person can do where system prompt and tools fill the window.
    """

    turn: str
    tokens: int
    threshold: int
    window: int
    high: bool = True
    advice: str = ""


class CompressionRequested(Event, frozen=True, kw_only=True):
    """The history is to be compressed before the next model call. `tokens` is about its size, in a window of
    `window`; `focus`: what the summary is to be about above all. Reason `refused`: the model refused a
    request that was larger than the last it accepted, and did not say why; `refusal` is what it said."""

    turn: str | None
    reason: CompressionReason
    tokens: int = 0
    window: int = 0
    focus: str = ""
    refusal: str = ""


class CompressionStarted(Event, frozen=True, kw_only=True):
    """A worker begins with the flush, or with the summary. `reserved`: what was set aside for its calls."""

    turn: str | None
    step: str
    attempt: int
    reserved: Reservation | None = None


class ContextFlushed(Event, frozen=True, kw_only=True):
    """Before it is compressed, the conversation was searched for what is worth remembering.

    `saved`: the memory's answer; `message`: why nothing could be saved, where that failed.
    """

    turn: str | None
    step: str
    saved: str = ""
    message: str = ""


class ContextCompressed(Event, frozen=True, kw_only=True):
    """From here on the history is `messages`: `removed` of them gave way to `summary`, "" where none could be
    had. The session goes on as `into`; `number` counts the lineage's compressions, `in_vain` those in a row
    up to this one that had no real effect. Sizes are those of whole requests, in tokens. `failures`: which
    models could not summarise, and why, before one could or none was left."""

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
    """The history stays as it is; with `retry_at` it is tried again then. `hint`: what a person can do."""

    turn: str | None
    step: str
    attempt: int
    kind: str
    message: str
    retry_at: float | None = None
    hint: str = ""
