"""A memory without a log: what was written, given; a change, when; what is written and answered, then."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.rules.memory import Limits, Memory, evolve
from hermes_jobs.features.memory.rules.writes import MemoryAction, Operation, Origin, Write
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult

EVIDENCE = e.Evidence(session="s1", turn="t1", call="t1-1-0")
BY_TURN = Origin("turn", EVIDENCE)
LIMITS = Limits(memory=200, user=100)


def added(content: str, target: e.MemoryTarget = "memory") -> e.MemoryAdded:
    return e.MemoryAdded(target=target, content=content, author="turn", evidence=EVIDENCE)


def remembering(*contents: str, target: e.MemoryTarget = "memory") -> list[e.MemoryEvent]:
    """The facts that leave these entries."""
    return [added(content, target) for content in contents]


def folded(facts: Sequence[e.MemoryEvent]) -> Memory:
    return reduce(evolve, facts, Memory())


def decided(facts: Sequence[e.MemoryEvent], change: Decision) -> DecisionResult:
    """What the change comes to after these facts."""

    def load(stream: str) -> Any:
        assert stream == "memory"
        return folded(facts)

    return change(load)


def facts_of(changed: DecisionResult) -> list[e.MemoryEvent]:
    return [fact for write in changed.writes for fact in write.events]  # type: ignore[misc]


def write(
    facts: Sequence[e.MemoryEvent],
    action: MemoryAction,
    content: str | None = None,
    old_text: str | None = None,
    target: e.MemoryTarget = "memory",
) -> DecisionResult:
    operation = Operation(action=action, target=target, content=content, old_text=old_text)
    return batch(facts, operation)


def batch(facts: Sequence[e.MemoryEvent], *operations: Operation, limits: Limits = LIMITS) -> DecisionResult:
    return decided(facts, Write(operations, BY_TURN, limits))
