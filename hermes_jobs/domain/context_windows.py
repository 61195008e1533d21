"""Context windows learned from refusals, per endpoint and model, shared by all processes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain.decision import Decision, DecisionResult, StateLoader
from hermes_jobs.domain.events import WindowEvent, WindowForgotten, WindowLearned

STREAM = "windows"
LEAST_WINDOW = 2_048
"""In tokens. A smaller window in a refusal is treated as an error: no current model has such a small one."""
WINDOW_SECONDS = 30 * 24 * 3600.0
"""Seconds after which a learned window expires and the larger one is tried again."""

Place = tuple[str, str]
"""Endpoint and model."""


class LearnedWindow(msgspec.Struct, frozen=True):
    """A window in tokens, learned while `assumed` was assumed; `at` in seconds
    since the epoch, 0 if unknown.
    """

    window: int
    assumed: int
    at: float = 0.0

    def counts(self, now: float) -> bool:
        """Whether the window is plausible and has not expired at `now`."""
        return self.window >= LEAST_WINDOW and now < self.at + WINDOW_SECONDS


class LearnedWindows(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of the stream `windows`. `forgotten` counts how often a user reset a model's window."""

    stream: str = STREAM
    version: int = 0
    windows: Mapping[Place, LearnedWindow] = {}
    forgotten: Mapping[Place, int] = {}


def evolve(state: LearnedWindows, event: WindowEvent) -> LearnedWindows:
    """The state after one more event; the newest window of a model counts."""
    place = (event.endpoint, event.model)
    others = {other: learned for other, learned in state.windows.items() if other != place}
    state = replace(state, version=state.version + 1)
    if isinstance(event, WindowForgotten):
        times = state.forgotten.get(place, 0) + 1
        return replace(state, windows=others, forgotten={**state.forgotten, place: times})
    return replace(state, windows={**others, place: LearnedWindow(event.window, event.assumed, event.at)})


def record_limit(endpoint: str, model: str, learned: LearnedWindow) -> Decision:
    """Record a window that a provider named at `learned.at`, unless the same one is recorded and has not
    expired.
    """

    def change(load: StateLoader) -> DecisionResult:
        state: LearnedWindows = load(STREAM)
        recorded = state.windows.get((endpoint, model))
        if (
            recorded is not None
            and recorded.counts(learned.at)
            and replace(recorded, at=learned.at) == learned
        ):
            return DecisionResult()
        event = WindowLearned(
            endpoint=endpoint,
            model=model,
            window=learned.window,
            assumed=learned.assumed,
            at=learned.at,
        )
        return DecisionResult.of(STREAM, event)

    return change


def forget(model: str | None) -> Decision:
    """Forget the learned windows of a model at all endpoints; None: of all models."""

    def change(load: StateLoader) -> DecisionResult:
        state: LearnedWindows = load(STREAM)
        events = tuple(
            WindowForgotten(endpoint=place[0], model=place[1])
            for place in state.windows
            if model in {None, place[1]}
        )
        return DecisionResult.of(STREAM, *events) if events else DecisionResult()

    return change
