"""What the agent knows, as state: the entries of both targets, folded from the stream `memory`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple, assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain import events as e

STREAM = "memory"
MARK = "§"
SEPARATOR = f"\n{MARK}\n"
PERSONS: tuple[e.Author, ...] = ("user", "hand_edit")
TARGETS: tuple[e.MemoryTarget, ...] = ("memory", "user")
OBSERVATION = "observation"
"""The tag of observations, which no prompt has."""
CLOSING = ".!;, "


class Observed(NamedTuple):
    """Of an observation that nobody has changed: its day, when it was said, its slot. See `MemoryAdded`."""

    day: str
    said_at: str
    slot: str


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of the memory's stream at `version`: the entries of each target, oldest first, none twice.

    `undone`: the versions of the writes that were taken back. `persons`: the entries that a person wrote.
    `allowed`: texts that a person wants in prompts although a rule of the scan names them.
    `has_observations`: whether there ever was one, so that an entry may be one that prompts do not have.
    `observations`: those that are as they were written, by their texts.
    """

    stream: str = STREAM
    version: int = 0
    memory: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    undone: frozenset[int] = frozenset()
    persons: frozenset[tuple[e.MemoryTarget, str]] = frozenset()
    allowed: frozenset[str] = frozenset()
    has_observations: bool = False
    observations: Mapping[str, Observed] = {}

    def entries(self, target: e.MemoryTarget) -> tuple[str, ...]:
        """The entries of a target."""
        return self.memory if target == "memory" else self.user


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The most characters of each target in a prompt, the separators counted, and of one entry of it."""

    memory: int = 2_200
    user: int = 1_375

    def of(self, target: e.MemoryTarget) -> int:
        """The limit of a target."""
        return self.memory if target == "memory" else self.user


def evolve(memory: Memory, event: e.MemoryEvent) -> Memory:
    """The memory after one more event."""
    entries = changed(memory.entries(event.target), event)
    undone = memory.undone if event.undoes is None else memory.undone | {event.undoes}
    persons = _persons(memory, event)
    if isinstance(event, e.MemoryAdded | e.MemoryReplaced) and event.anyway:
        memory = replace(memory, allowed=memory.allowed | {event.content})
    if isinstance(event, e.MemoryAdded | e.MemoryReplaced) and OBSERVATION in event.tags:
        memory = replace(memory, has_observations=True)
    observations = _observations(memory.observations, event)
    memory = replace(
        memory, version=memory.version + 1, undone=undone, persons=persons, observations=observations
    )
    return replace(memory, memory=entries) if event.target == "memory" else replace(memory, user=entries)


def _persons(memory: Memory, event: e.MemoryEvent) -> frozenset[tuple[e.MemoryTarget, str]]:
    if isinstance(event, e.MemoryArranged | e.MemoryConflicted | e.MemoryConfirmed):
        return memory.persons
    persons = memory.persons
    if not isinstance(event, e.MemoryAdded) and (event.target, event.old) in persons:
        persons -= {(event.target, event.old)}
    if isinstance(event, e.MemoryRemoved):
        return persons
    entry = (event.target, event.content)
    if (entry in persons) == (event.author in PERSONS):
        return persons
    return persons ^ {entry}


def _observations(known: Mapping[str, Observed], event: e.MemoryEvent) -> Mapping[str, Observed]:
    if isinstance(event, e.MemoryReplaced | e.MemoryRemoved) and event.old in known:
        known = {text: each for text, each in known.items() if text != event.old}
    if isinstance(event, e.MemoryAdded | e.MemoryReplaced) and event.observed:
        known = {**known, event.content: Observed(event.observed, event.said_at, event.slot)}
    return known


def changed(entries: Sequence[str], event: e.MemoryEvent) -> tuple[str, ...]:
    """The entries of the event's target after it."""
    match event:
        case e.MemoryAdded():
            return (*entries, event.content)
        case e.MemoryReplaced():
            return tuple(event.content if each == event.old else each for each in entries)
        case e.MemoryRemoved():
            return tuple(each for each in entries if each != event.old)
        case e.MemoryArranged():
            listed = [each for each in event.entries if each in entries]
            return (*listed, *(each for each in entries if each not in event.entries))
        case e.MemoryConflicted() | e.MemoryConfirmed():
            return tuple(entries)
        case _:
            assert_never(event)


def history(facts: Iterable[e.MemoryEvent]) -> tuple[Memory, ...]:
    """The memory at each version, from version 0 on."""
    return tuple(accumulate(facts, evolve, initial=Memory()))


def reading(text: str) -> str:
    """The text as it is compared with others: but for case, blanks and a closing mark."""
    return " ".join(text.casefold().split()).rstrip(CLOSING)


def chars(entries: Sequence[str]) -> int:
    """How many characters the entries have, with the separators between them."""
    return len(SEPARATOR.join(entries))


def fill(entries: Sequence[str], limit: int) -> str:
    """How full a target is, such as `62% — 1,364/2,200 chars`."""
    size = chars(entries)
    return f"{size * 100 // limit}% — {size:,}/{limit:,} chars"


def quoted(entries: Iterable[str]) -> str:
    """The entries whole, as a model is shown them in an answer."""
    return "".join(f"{MARK}\n{entry}\n" for entry in entries) + MARK


def is_shown(entry: str, text: str) -> bool:
    """Whether a prompt or an answer shows the entry, whole and as an entry of its own."""
    at = text.find(entry)
    while at >= 0:
        before, after = text[:at], text[at + len(entry) :]
        if before.endswith(_BEFORE) and (not after or after.startswith(_AFTER)):
            return True
        at = text.find(entry, at + 1)
    return False


_BEFORE = (f"{MARK}\n", "]\n")  # a separator, a heading with its fill
_AFTER = (f"\n{MARK}", "\n\n")


def text_of(entries: Sequence[str]) -> str:
    """The entries as they stand in a file."""
    return f"{SEPARATOR.join(entries)}\n" if entries else ""


def entries_of(text: str) -> tuple[str, ...]:
    """The entries that stand in a file, each once, however a person has set the lines between them."""
    entries: list[list[str]] = [[]]
    for line in text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if line.strip() == MARK:
            entries.append([])
        else:
            entries[-1].append(line)
    found = ("\n".join(lines).strip() for lines in entries)
    return tuple(dict.fromkeys(entry for entry in found if entry))
