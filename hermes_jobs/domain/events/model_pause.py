"""Events of the stream `pauses`: auxiliary models that failed and are skipped for a while."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event


class HelperPaused(Event, frozen=True, kw_only=True):
    """The auxiliary model for `purpose` (flush, compression, review) failed; the main model is used in its
    place until `until` (seconds since the epoch). `endpoint` is a URL without credentials.
    """

    purpose: str
    model: str
    endpoint: str
    kind: str
    message: str
    until: float


PauseEvent = HelperPaused
