"""What refusals have taught about models' windows, at which endpoint, for every process and for ever."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain.changes import Change, Changed, Load, StreamFacts
from hermes_jobs.domain.events import WindowEvent, WindowLearned

STREAM = "windows"


class LearnedWindow(msgspec.Struct, frozen=True):
    """The tokens that a model takes, learned while it was assumed to take `assumed`."""

    window: int
    assumed: int


class LearnedWindows(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of the stream `windows`, by endpoint and model."""

    stream: str = STREAM
    version: int = 0
    windows: Mapping[tuple[str, str], LearnedWindow] = {}


def evolve(state: LearnedWindows, event: WindowEvent) -> LearnedWindows:
    """The state after one more fact; the newest stands."""
    learned = LearnedWindow(event.window, event.assumed)
    windows = {**state.windows, (event.endpoint, event.model): learned}
    return replace(state, version=state.version + 1, windows=windows)


def learn(endpoint: str, model: str, learned: LearnedWindow) -> Change:
    """Remember a window that a provider named, unless it is remembered already."""

    def change(load: Load) -> Changed:
        known: LearnedWindows = load(STREAM)
        if known.windows.get((endpoint, model)) == learned:
            return Changed()
        fact = WindowLearned(endpoint=endpoint, model=model, window=learned.window, assumed=learned.assumed)
        return Changed(writes=(StreamFacts(STREAM, (fact,)),))

    return change
