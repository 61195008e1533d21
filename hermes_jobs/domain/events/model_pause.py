"""Events of the stream `pauses`: models beside the main one that failed and are not asked for a while."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event


class HelperPaused(Event, frozen=True, kw_only=True):
    """The model for `purpose` (flush, compression, review) failed; until `until` (seconds since the epoch)
    the main model is asked in its place. `endpoint` is a URL without credentials."""

    purpose: str
    model: str
    endpoint: str
    kind: str
    message: str
    until: float


PauseEvent = HelperPaused
