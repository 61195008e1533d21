"""Observations that wait for the person, because others wrote in their conversation too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from hermes_jobs.features.consolidation.events import RefusedObservation
from hermes_jobs.features.memory.rules.observations import Observation
from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.reviews import MEMORY_TOOL
from hermes_jobs.kernel.turns.session import Session

HELD = "held"
WHY = "it waits for you, as far as not too many do (hermes-jobs held list)"

Held = Callable[[ToolCall, ToolContext], Decision | None]
"""The decision in the place of a call that waits for the person; None for one that does not."""


class Sorted(NamedTuple):
    """The observations that are saved now, the decisions that hold the others, and what is said of these."""

    saved: tuple[Observation, ...]
    held: tuple[Decision, ...]
    refused: tuple[RefusedObservation, ...]


def sort_out(observations: Sequence[Observation], session: Session, review: str, held: Held) -> Sorted:
    """The observations of a conversation, by whether they wait."""
    if not session.outside:
        return Sorted(tuple(observations), (), ())
    saved: list[Observation] = []
    decisions: list[Decision] = []
    refused: list[RefusedObservation] = []
    for each in observations:
        decision = held(call_of(each), _context(each, session, review))
        if decision is None:
            saved.append(each)
        else:
            decisions.append(decision)
            refused.append(RefusedObservation(each.number, HELD, WHY))
    return Sorted(tuple(saved), tuple(decisions), tuple(refused))


def call_of(observation: Observation) -> ToolCall:
    """The call that saves it as an entry that is only recalled."""
    arguments = {
        "action": "add",
        "target": "memory",
        "content": observation.text,
        "kind": "episodic",
        "tags": [name for name in observation.about if name],
    }
    return ToolCall("", MEMORY_TOOL, msgspec.json.encode(arguments).decode())


def _context(observation: Observation, session: Session, review: str) -> ToolContext:
    return ToolContext(
        session=observation.session,
        turn=observation.turns[0],
        call=f"{review}-{observation.number}",
        workdir="",
        attended=False,
        author="consolidation",
        lineage=session.lineage,
        watched=False,
        outside=session.outside,
        typed=session.typed,
    )
