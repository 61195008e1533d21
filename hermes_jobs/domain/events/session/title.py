"""Events of titles by a model."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.usage import Reservation


class TitleStarted(Event, frozen=True, kw_only=True):
    """A worker started to ask a model for the session's title. `reserved`: the reservation for the call."""

    step: str
    attempt: int
    reserved: Reservation | None = None


class TitleEnded(Event, frozen=True, kw_only=True):
    """The attempt is over; where it gave a title, `SessionTitled` stands before this.

    Otherwise `kind` and `message` say why not; `retry_at`: the time of the next attempt, None for none.
    """

    step: str
    attempt: int
    kind: str = ""
    message: str = ""
    retry_at: float | None = None
