"""Events of the stream `windows`: what models take at a time, as their providers said when they refused."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event


class WindowLearned(Event, frozen=True, kw_only=True):
    """A refusal named the model's window, in tokens, where more was `assumed`. `endpoint` is a URL without
    credentials; `at` is in seconds since the epoch."""

    endpoint: str
    model: str
    window: int
    assumed: int
    at: float = 0.0


class WindowForgotten(Event, frozen=True, kw_only=True):
    """A person had what was learned of the model's window forgotten."""

    endpoint: str
    model: str


WindowEvent = WindowLearned | WindowForgotten
