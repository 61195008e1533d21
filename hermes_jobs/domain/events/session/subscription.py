"""Events of the session's listeners."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event


class ListenerTold(Event, frozen=True, kw_only=True):
    """A listener was notified of the stream's events up to version `upto`. `message`: the error of the next
    event, which is retried at `retry_at`, or skipped where that is not set.
    """

    listener: str
    upto: int
    attempt: int = 1
    message: str = ""
    retry_at: float | None = None
