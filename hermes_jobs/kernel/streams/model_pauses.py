"""Pauses of auxiliary models (flush, compression, review) after failures, shared by all processes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.events import HelperPaused, PauseEvent
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader

STREAM = "pauses"
PASSING_SECONDS = 300.0
LASTING_SECONDS = 6 * 3600.0
LASTING = frozenset({"auth", "billing", "model_not_found", "bad_request"})
"""Kinds of failures that last until a user acts."""

Place = tuple[str, str, str]
"""Purpose, model and endpoint."""


class Pauses(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of the stream `pauses`: the newest pause of each model for each purpose."""

    stream: str = STREAM
    version: int = 0
    paused: Mapping[Place, HelperPaused] = {}

    def at(self, place: Place, now: float) -> HelperPaused | None:
        """The pause that applies at `now`, if any."""
        pause = self.paused.get(place)
        return pause if pause is not None and now < pause.until else None


def evolve(state: Pauses, event: PauseEvent) -> Pauses:
    """The state after one more event."""
    place = (event.purpose, event.model, event.endpoint)
    return replace(state, version=state.version + 1, paused={**state.paused, place: event})


def pause(place: Place, kind: str, message: str, now: float) -> Decision:
    """Pause that model from `now` on: briefly after a transient failure, for long after a permanent one."""
    purpose, model, endpoint = place
    seconds = LASTING_SECONDS if kind in LASTING else PASSING_SECONDS
    event = HelperPaused(
        purpose=purpose, model=model, endpoint=endpoint, kind=kind, message=message, until=now + seconds
    )

    def change(load: StateLoader) -> DecisionResult:
        state: Pauses = load(STREAM)
        return DecisionResult() if state.at(place, now) else DecisionResult.of(STREAM, event)

    return change
