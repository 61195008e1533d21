"""Who has heard what of the session."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event


class ListenerTold(Event, frozen=True, kw_only=True):
    """A listener was told the stream's events up to version `upto`. `message`: what went wrong with the next
    one, which is told again at `retry_at`; or, without that, what was left out."""

    listener: str
    upto: int
    attempt: int = 1
    message: str = ""
    retry_at: float | None = None
