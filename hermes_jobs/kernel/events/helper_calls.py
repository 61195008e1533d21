"""Events of helper calls: model calls beside those of turns. See `hermes_jobs.kernel.helper_calls`."""

from __future__ import annotations

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation, Usage


class HelperCallStarted(Event, frozen=True, kw_only=True):
    """A worker started the call. `lost`: the reservation of an earlier start that had no outcome."""

    step: str
    attempt: int
    reserved: Reservation | None = None
    lost: Reservation | None = None


class HelperCallEnded(Event, frozen=True, kw_only=True):
    """The call is done; its results are other events of the same append. `model` is empty if no call was
    made, or its responses are in `ResponseBooked`. `estimated`: the usage where none was reported."""

    step: str
    attempt: int
    model: str = ""
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


class HelperCallFailed(Event, frozen=True, kw_only=True):
    """The attempt failed; it is retried at `retry_at` (seconds since the epoch) if that is set. `model` is
    empty as in `HelperCallEnded`; `estimated` may be the reservation of a call with an unknown outcome."""

    step: str
    attempt: int
    kind: str
    message: str
    model: str = ""
    retry_at: float | None = None
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


HelperCallEvent = HelperCallStarted | HelperCallEnded | HelperCallFailed
