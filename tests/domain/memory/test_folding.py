"""Folding the memory's events: one pass gives what event after event gives, and costs no more per event."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import reduce
from types import FrameType

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.rules.memory import TARGETS, Memory, evolve, fold, history, states_at

texts = st.sampled_from("abcd")
targets = st.sampled_from(TARGETS)
authors = st.sampled_from(("user", "turn"))
undoes = st.none() | st.integers(1, 5)
tags = st.sampled_from(((), ("observation",)))
days = st.sampled_from(("", "2026-01-01"))
facts = st.lists(
    st.builds(
        e.MemoryAdded,
        target=targets,
        content=texts,
        author=authors,
        undoes=undoes,
        tags=tags,
        observed=days,
        anyway=st.booleans(),
    )
    | st.builds(e.MemoryReplaced, target=targets, old=texts, content=texts, author=authors, observed=days)
    | st.builds(e.MemoryRemoved, target=targets, old=texts, author=authors, undoes=undoes)
    | st.builds(
        e.MemoryArranged,
        target=targets,
        entries=st.permutations("abcd").map(tuple),
        old=st.just(()),
        author=authors,
    )
    | st.builds(e.MemoryConfirmed, target=targets, content=texts, author=authors)
)


@given(facts)
def test_one_pass_equals_folding_event_by_event(events: list[e.MemoryEvent]) -> None:
    assert fold(Memory(), events) == reduce(evolve, events, Memory())


@given(facts, st.integers(0, 5))
def test_the_states_at_some_versions_are_those_of_the_history(
    events: list[e.MemoryEvent], after: int
) -> None:
    past = history(events)
    assert history(events, min(after, len(events))) == past[min(after, len(events)) :]
    found = states_at(events, [after, 0, len(events), len(events) + 1])
    assert found == {version: past[version] for version in {after, 0, len(events)} if version < len(past)}


def test_a_fold_of_no_events_leaves_the_entries_as_they_are() -> None:
    memory = Memory(memory=("a",), version=1)
    assert fold(memory, ()) is memory


def add(number: int) -> e.MemoryEvent:
    text = str(number)
    return e.MemoryAdded(target="memory", content=text, author="user", observed="2026-01-01", anyway=True)


def replace(number: int) -> e.MemoryEvent:
    return e.MemoryReplaced(target="memory", old=str(number), content=f"{number}.", author="user")


def remove(number: int) -> e.MemoryEvent:
    return e.MemoryRemoved(target="memory", old=str(number), author="user", undoes=number + 1)


def confirm(number: int) -> e.MemoryEvent:
    return e.MemoryConfirmed(target="memory", content=str(number), author="user")


def cost_of(memory: Memory, events: Sequence[e.MemoryEvent]) -> tuple[int, int]:
    """How often a fold calls a function or resumes a generator, and how often it makes a state."""
    calls: list[object] = []

    def note(_frame: FrameType, event: str, called: object) -> None:
        if event in ("call", "c_call"):
            calls.append(called)

    sys.setprofile(note)
    try:
        fold(memory, events)
    finally:
        sys.setprofile(None)
    return len(calls), calls.count(msgspec.structs.replace)


@pytest.mark.parametrize("kind", [add, replace, remove, confirm])
def test_a_fold_takes_as_many_steps_an_event_however_many_there_are(
    kind: Callable[[int], e.MemoryEvent],
) -> None:
    costs = []
    for count in (500, 1_000):
        before = Memory() if kind is add else fold(Memory(), [add(each) for each in range(count)])
        costs.append(cost_of(before, [kind(each) for each in range(count)]))
    (few, states), (many, more_states) = costs
    assert many <= 2.1 * few  # hooks of the garbage collector are counted, too
    assert (states, more_states) == (1, 1)
