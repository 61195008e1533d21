"""Sub-agents of sessions that came from another log, perhaps without each other.

A parent is told that nothing is known of a child that did not come along. A child that is held back takes a
place, or waits for one, among the children that are here.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from hermes_jobs.domain import delegation
from hermes_jobs.domain.decision import DecisionResult, StateLoader
from hermes_jobs.domain.reactions import with_reactions
from hermes_jobs.engine.engine import Engine


def settle_children(engine: Engine, streams: Iterable[str], by: str, *, per_root: int, per_home: int) -> None:
    """Let none of these sessions wait for one that is not here; `by` is the author."""

    def with_place(stream: str, load: StateLoader) -> DecisionResult:
        return with_reactions(delegation.place_for(load(stream), per_root, per_home, load), load)

    for stream in streams:
        for child in engine.sessions.load(stream).children:
            engine.change(partial(delegation.end_if_lost, stream, child), by)
        engine.change(partial(with_place, stream), by)
