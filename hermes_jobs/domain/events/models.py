"""Events about models that all sessions share.

Stream `windows`: context windows that providers named when they refused a request. Stream `pauses`: auxiliary
models that failed and are skipped for a while.
"""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event


class WindowLearned(Event, frozen=True, kw_only=True):
    """A refusal reported a window, in tokens, that is smaller than `assumed`. `endpoint` is a URL without
    credentials; `at` is in seconds since the epoch.
    """

    endpoint: str
    model: str
    window: int
    assumed: int
    at: float = 0.0


class WindowForgotten(Event, frozen=True, kw_only=True):
    """A user reset the learned window of the model."""

    endpoint: str
    model: str


WindowEvent = WindowLearned | WindowForgotten


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
