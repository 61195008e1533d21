"""Events of the stream `windows`: context windows that providers named when they refused a request."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event


class WindowLearned(Event, frozen=True, kw_only=True):
    """A refusal named a window, in tokens, that is smaller than `assumed`. `endpoint` is a URL without
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
