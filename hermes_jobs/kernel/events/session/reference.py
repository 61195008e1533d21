"""Events of references: the calls of an ensemble's members before the first model call of a turn."""

from __future__ import annotations

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation, Usage


class ReferenceStarted(Event, frozen=True, kw_only=True):
    """The call of a member was started. `model` is the member as configured; `reserved`: its reservation."""

    turn: str
    step: str
    attempt: int
    model: str
    reserved: Reservation | None = None


class ReferenceReplied(Event, frozen=True, kw_only=True):
    """A member's answer, as received. `model` answered, `member` is its name as configured.

    `estimated`: estimated usage, where the endpoint did not report it.
    """

    turn: str
    step: str
    content: str
    model: str
    member: str
    finish_reason: str
    attempt: int = 1
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    purpose: str = "reference"
    reasoning: str = ""
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


class ReferenceFailed(Event, frozen=True, kw_only=True):
    """A call of a member without a usable answer; it is retried at `retry_at` if that is set, else the member
    is left out.

    `alone`: all members are left out, this one as the last, and the aggregator answers alone. `max_tokens`:
    the output limit of the retry, where the requested one was refused. `window`: the model's window in
    tokens, where the refusal names it. `estimated`: estimated usage of a call without reported usage.
    """

    turn: str
    step: str
    attempt: int
    kind: str
    message: str
    member: str
    alone: bool = False
    retry_at: float | None = None
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    model: str = ""
    purpose: str = "reference"
    max_tokens: int | None = None
    window: int | None = None
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


ReferenceEvent = ReferenceStarted | ReferenceReplied | ReferenceFailed
