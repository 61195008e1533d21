"""The history of the memory: undoing writes, and the writes that led to an entry."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import assert_never

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.rules.memory import STREAM, TARGETS, Memory
from hermes_jobs.features.memory.rules.writes import preview
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader, StreamEvents


class Undo:
    """The decision that undoes the write of a version. `event` is that write."""

    def __init__(self, version: int, event: e.MemoryEvent) -> None:
        self._version = version
        self._event = event

    def __call__(self, load: StateLoader) -> DecisionResult:
        """See `Decision`."""
        memory: Memory = load(STREAM)
        if self._version in memory.undone:
            raise Rejected(
                f"Write {self._version} was undone before.",
                kind="memory_undone",
                hint="`hermes-jobs memory log` shows by which write; undo that one to have it again.",
            )
        event = opposite(memory, self._version, self._event)
        return DecisionResult(
            writes=(StreamEvents(STREAM, (event,)),), answer=f"Write {self._version} is undone."
        )


def opposite(memory: Memory, version: int, event: e.MemoryEvent) -> e.MemoryEvent:
    """The event that undoes the write. Raises `Rejected` if that is impossible."""
    entries = memory.entries(event.target)
    if isinstance(event, e.MemoryConflicted):
        raise Rejected(
            f"Write {version} changed nothing: it says that two forms of an entry were kept.",
            kind="memory_nothing_to_undo",
            hint="Remove the form that is not wanted, in the file or with `hermes-jobs memory remove`.",
        )
    if isinstance(event, e.MemoryConfirmed):
        raise Rejected(
            f"Write {version} changed nothing: it says that the entry was there already.",
            kind="memory_nothing_to_undo",
            hint="`hermes-jobs memory remove` removes the entry.",
        )
    if isinstance(event, e.MemoryArranged):
        return e.MemoryArranged(
            target=event.target, entries=event.old, old=entries, author="user", undoes=version
        )
    there = event.old if isinstance(event, e.MemoryRemoved) else event.content
    if (there in entries) == isinstance(event, e.MemoryRemoved):
        state = "is there again" if there in entries else "was changed or removed since"
        raise Rejected(
            f"Write {version} cannot be undone: the entry “{preview(there)}” {state}.",
            kind="memory_changed_since",
            hint="Undo the later write first; `hermes-jobs memory log` lists them.",
        )
    match event:
        case e.MemoryAdded():
            return e.MemoryRemoved(target=event.target, old=event.content, author="user", undoes=version)
        case e.MemoryRemoved():
            return e.MemoryAdded(target=event.target, content=event.old, author="user", undoes=version)
        case e.MemoryReplaced():
            if event.old in entries and event.old != event.content:
                return e.MemoryRemoved(target=event.target, old=event.content, author="user", undoes=version)
            return e.MemoryReplaced(
                target=event.target, old=event.content, content=event.old, author="user", undoes=version
            )
        case _:
            assert_never(event)


def forms_of(number: int, events: Sequence[e.MemoryEvent]) -> tuple[str, ...]:
    """All texts that the entry of that write ever had, the longest first; for a removal those of the removed
    entry. Raises `Rejected` for a write that only reordered entries.
    """
    event = events[number - 1]
    if isinstance(event, e.MemoryArranged):
        raise Rejected(
            f"Write {number} gave the entries another order: it is about no entry of its own.",
            kind="usage",
            hint="Give the number of a write that added, replaced or removed it.",
        )
    texts = {event.old if isinstance(event, e.MemoryRemoved | e.MemoryConflicted) else event.content}
    size = 0
    while size != len(texts):
        size = len(texts)
        for record in events:
            forms = _forms(record) if record.target == event.target else set()
            if forms & texts:
                texts |= forms
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


def _forms(event: e.MemoryEvent) -> set[str]:
    """The texts that the write identifies as one entry."""
    match event:
        case e.MemoryAdded() | e.MemoryConfirmed():
            return {event.content}
        case e.MemoryReplaced():
            return {event.old, event.content}
        case e.MemoryRemoved():
            return {event.old}
        case e.MemoryConflicted():
            return {text for text in (event.old, event.ours, event.theirs) if text is not None}
        case e.MemoryArranged():
            return set()
        case _:
            assert_never(event)


class Drop:
    """The decision that removes these entries from both targets, by a user's command."""

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = texts

    def __call__(self, load: StateLoader) -> DecisionResult:
        """See `Decision`."""
        memory: Memory = load(STREAM)
        events = tuple(
            e.MemoryRemoved(target=target, old=entry, author="user")
            for target in TARGETS
            for entry in memory.entries(target)
            if entry in self._texts
        )
        return DecisionResult(writes=(StreamEvents(STREAM, events),) if events else ())


def provenance(
    entry: str, target: e.MemoryTarget, events: Sequence[e.MemoryEvent]
) -> tuple[tuple[int, e.MemoryEvent], ...]:
    """The writes, by version, that led to an entry's text, the first one first."""
    return tuple(reversed(tuple(_backwards(entry, target, events))))


def _backwards(
    entry: str, target: e.MemoryTarget, events: Sequence[e.MemoryEvent]
) -> Iterator[tuple[int, e.MemoryEvent]]:
    current = entry
    for version in range(len(events), 0, -1):
        event = events[version - 1]
        if event.target != target or not isinstance(event, e.MemoryAdded | e.MemoryReplaced):
            continue
        if event.content != current:
            continue
        yield version, event
        if isinstance(event, e.MemoryReplaced):
            current = event.old
        elif event.undoes is None:
            return
