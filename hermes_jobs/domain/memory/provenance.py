"""The memory's past: taking writes back, and what led to an entry."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import assert_never

from hermes_jobs.domain import events as e
from hermes_jobs.domain.decision import DecisionResult, StateLoader, StreamEvents
from hermes_jobs.domain.memory.memory import STREAM, TARGETS, Memory
from hermes_jobs.domain.memory.writes import preview
from hermes_jobs.errors import Rejected


class Undo:
    """The change that takes back the write of a version. `fact` is what was written then."""

    def __init__(self, version: int, fact: e.MemoryEvent) -> None:
        self._version = version
        self._fact = fact

    def __call__(self, load: StateLoader) -> DecisionResult:
        """See `Change`."""
        memory: Memory = load(STREAM)
        if self._version in memory.undone:
            raise Rejected(
                f"Write {self._version} was taken back before.",
                kind="memory_undone",
                hint="`hermes-jobs memory log` shows by which write; undo that one to have it again.",
            )
        fact = opposite(memory, self._version, self._fact)
        return DecisionResult(
            writes=(StreamEvents(STREAM, (fact,)),), answer=f"Write {self._version} is taken back."
        )


def opposite(memory: Memory, version: int, fact: e.MemoryEvent) -> e.MemoryEvent:
    """The event after which it is as if the write had not been. Raises `Rejected` where that cannot be."""
    entries = memory.entries(fact.target)
    if isinstance(fact, e.MemoryConflicted):
        raise Rejected(
            f"Write {version} changed nothing: it says that two forms of an entry were kept.",
            kind="memory_nothing_to_undo",
            hint="Remove the form that is not wanted, in the file or with `hermes-jobs memory remove`.",
        )
    if isinstance(fact, e.MemoryConfirmed):
        raise Rejected(
            f"Write {version} changed nothing: it says that the entry was there already.",
            kind="memory_nothing_to_undo",
            hint="`hermes-jobs memory remove` removes the entry.",
        )
    if isinstance(fact, e.MemoryArranged):
        return e.MemoryArranged(
            target=fact.target, entries=fact.old, old=entries, author="user", undoes=version
        )
    there = fact.old if isinstance(fact, e.MemoryRemoved) else fact.content
    if (there in entries) == isinstance(fact, e.MemoryRemoved):
        state = "is there again" if there in entries else "was changed or removed since"
        raise Rejected(
            f"Write {version} cannot be taken back: the entry “{preview(there)}” {state}.",
            kind="memory_changed_since",
            hint="Take back the later write first; `hermes-jobs memory log` lists them.",
        )
    match fact:
        case e.MemoryAdded():
            return e.MemoryRemoved(target=fact.target, old=fact.content, author="user", undoes=version)
        case e.MemoryRemoved():
            return e.MemoryAdded(target=fact.target, content=fact.old, author="user", undoes=version)
        case e.MemoryReplaced():
            if fact.old in entries and fact.old != fact.content:
                return e.MemoryRemoved(target=fact.target, old=fact.content, author="user", undoes=version)
            return e.MemoryReplaced(
                target=fact.target, old=fact.content, content=fact.old, author="user", undoes=version
            )
        case _:
            assert_never(fact)


def forms_of(number: int, facts: Sequence[e.MemoryEvent]) -> tuple[str, ...]:
    """Every text that the entry of that write ever was, the longest first: of a removal, the one removed.

    Raises `Rejected` for a write that only gave entries another order.
    """
    fact = facts[number - 1]
    if isinstance(fact, e.MemoryArranged):
        raise Rejected(
            f"Write {number} gave the entries another order: it is about no entry of its own.",
            kind="usage",
            hint="Give the number of a write that added, replaced or removed it.",
        )
    found = {fact.old if isinstance(fact, e.MemoryRemoved | e.MemoryConflicted) else fact.content}
    size = 0
    while size != len(found):
        size = len(found)
        for each in facts:
            forms = _forms(each) if each.target == fact.target else set()
            if forms & found:
                found |= forms
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def _forms(fact: e.MemoryEvent) -> set[str]:
    """The texts of which the write says that they are one entry."""
    match fact:
        case e.MemoryAdded() | e.MemoryConfirmed():
            return {fact.content}
        case e.MemoryReplaced():
            return {fact.old, fact.content}
        case e.MemoryRemoved():
            return {fact.old}
        case e.MemoryConflicted():
            return {text for text in (fact.old, fact.ours, fact.theirs) if text is not None}
        case e.MemoryArranged():
            return set()
        case _:
            assert_never(fact)


class Drop:
    """The change that removes these entries, wherever they are, by a user's command."""

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = texts

    def __call__(self, load: StateLoader) -> DecisionResult:
        """See `Change`."""
        memory: Memory = load(STREAM)
        facts = tuple(
            e.MemoryRemoved(target=target, old=entry, author="user")
            for target in TARGETS
            for entry in memory.entries(target)
            if entry in self._texts
        )
        return DecisionResult(writes=(StreamEvents(STREAM, facts),) if facts else ())


def provenance(
    entry: str, target: e.MemoryTarget, facts: Sequence[e.MemoryEvent]
) -> tuple[tuple[int, e.MemoryEvent], ...]:
    """The writes, by version, that made an entry what it reads, the first one first."""
    return tuple(reversed(tuple(_backwards(entry, target, facts))))


def _backwards(
    entry: str, target: e.MemoryTarget, facts: Sequence[e.MemoryEvent]
) -> Iterator[tuple[int, e.MemoryEvent]]:
    wanted = entry
    for version in range(len(facts), 0, -1):
        fact = facts[version - 1]
        if fact.target != target or not isinstance(fact, e.MemoryAdded | e.MemoryReplaced):
            continue
        if fact.content != wanted:
            continue
        yield version, fact
        if isinstance(fact, e.MemoryReplaced):
            wanted = fact.old
        elif fact.undoes is None:
            return
