"""Context windows and refused features of models, learned from refusals, shared by all processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.events import FeatureRefused, WindowEvent, WindowForgotten, WindowLearned
from hermes_jobs.kernel.events.models import WindowSource
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader

STREAM = "windows"
LEAST_WINDOW = 2_048
"""In tokens. A smaller window in a refusal is treated as an error: no current model has such a small one."""
WINDOW_SECONDS = 30 * 24 * 3600.0
"""Seconds after which a learned window expires and the larger one is tried again."""
REFUSAL_SECONDS = 7 * 24 * 3600.0
"""Seconds after which a refused feature is tried again: servers are updated, and get other options."""

Place = tuple[str, str]
"""Endpoint and model."""


class LearnedWindow(msgspec.Struct, frozen=True):
    """A window in tokens, learned while `assumed` was assumed; `at` in seconds since the epoch, 0 if unknown.
    `source`: a refusal, or the server's own word.
    """

    window: int
    assumed: int
    at: float = 0.0
    source: WindowSource = "refusal"

    def counts(self, now: float) -> bool:
        """Whether the window is plausible and has not expired at `now`."""
        return self.window >= LEAST_WINDOW and now < self.at + WINDOW_SECONDS


class Refused(msgspec.Struct, frozen=True):
    """The endpoint's message about a feature; `at` in seconds since the epoch."""

    message: str
    at: float

    def counts(self, now: float) -> bool:
        """Whether it has not expired at `now`."""
        return now < self.at + REFUSAL_SECONDS


class LearnedWindows(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of the stream `windows`. `refused` has the refused features by name; `forgotten` counts how
    often a user reset what was learned of a model.
    """

    stream: str = STREAM
    version: int = 0
    windows: Mapping[Place, LearnedWindow] = {}
    refused: Mapping[Place, Mapping[str, Refused]] = {}
    forgotten: Mapping[Place, int] = {}


def evolve(state: LearnedWindows, event: WindowEvent) -> LearnedWindows:
    """The state after one more event; the newest window of a model counts."""
    place = (event.endpoint, event.model)
    state = replace(state, version=state.version + 1)
    match event:
        case WindowLearned():
            learned = LearnedWindow(event.window, event.assumed, event.at, event.source)
            return replace(state, windows={**state.windows, place: learned})
        case FeatureRefused():
            features = {**state.refused.get(place, {}), event.feature: Refused(event.message, event.at)}
            return replace(state, refused={**state.refused, place: features})
        case WindowForgotten():
            return replace(
                state,
                windows={other: learned for other, learned in state.windows.items() if other != place},
                refused={other: features for other, features in state.refused.items() if other != place},
                forgotten={**state.forgotten, place: state.forgotten.get(place, 0) + 1},
            )
        case _:
            assert_never(event)


def record_limit(endpoint: str, model: str, learned: LearnedWindow) -> Decision:
    """Record a window that an endpoint named at `learned.at`, unless the same one is recorded and has not
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
            source=learned.source,
        )
        return DecisionResult.of(STREAM, event)

    return change


def record_refusal(endpoint: str, model: str, feature: str, refused: Refused) -> Decision:
    """Record that the endpoint refused a feature at `refused.at`, unless that is recorded and has not
    expired.
    """

    def change(load: StateLoader) -> DecisionResult:
        state: LearnedWindows = load(STREAM)
        recorded = state.refused.get((endpoint, model), {}).get(feature)
        if recorded is not None and recorded.counts(refused.at):
            return DecisionResult()
        event = FeatureRefused(
            endpoint=endpoint, model=model, feature=feature, message=refused.message, at=refused.at
        )
        return DecisionResult.of(STREAM, event)

    return change


def forget(model: str | None) -> Decision:
    """Forget what was learned of a model at all endpoints; None: of all models."""

    def change(load: StateLoader) -> DecisionResult:
        state: LearnedWindows = load(STREAM)
        events = tuple(
            WindowForgotten(endpoint=place[0], model=place[1])
            for place in {**state.windows, **state.refused}
            if model in {None, place[1]}
        )
        return DecisionResult.of(STREAM, *events) if events else DecisionResult()

    return change
