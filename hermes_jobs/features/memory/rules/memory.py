"""The state of the memory: the entries of both targets, folded from the stream `memory`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.memory import events as e

STREAM = "memory"
PERSONS: tuple[e.Author, ...] = ("user", "hand_edit")
OBSERVATION = "observation"
"""The tag of observations, which are in no prompt."""


class Observed(NamedTuple):
    """The day, time and slot of an unchanged observation. See `MemoryAdded`."""

    day: str
    said_at: str
    slot: str


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of the memory's stream at `version`: the entries of each target, oldest first, none twice.

    `undone`: the versions of the writes that were undone. `persons`: the entries that a person wrote.
    `allowed`: texts that a person wants in prompts although they match a scan rule. `has_observations`:
    whether there was ever one, so that an entry may be outside of prompts. `observations`: the unchanged
    ones, by their texts.
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


class EntryDraft:
    """The entries of one target while events change them. The cost of an event does not depend on the number
    of entries."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._texts: list[str | None] = list(entries)
        self._places: defaultdict[str, list[int]] | None = None

    def entries(self) -> tuple[str, ...]:
        """The entries, in order."""
        return tuple(text for text in self._texts if text is not None)

    def apply(self, event: e.MemoryEvent) -> None:
        """Apply an event of the target."""
        match event:
            case e.MemoryAdded():
                if self._places is not None:
                    self._places[event.content].append(len(self._texts))
                self._texts.append(event.content)
            case e.MemoryReplaced():
                self._put(event.old, event.content)
            case e.MemoryRemoved():
                self._put(event.old, None)
            case e.MemoryArranged():
                self._arrange(event.entries)
            case e.MemoryConflicted() | e.MemoryConfirmed():
                pass
            case _:
                assert_never(event)

    def _put(self, old: str, new: str | None) -> None:
        if self._places is None:  # most folds only add, and need no index
            self._places = defaultdict(list)
            for place, text in enumerate(self._texts):
                if text is not None:
                    self._places[text].append(place)
        places = self._places.pop(old, [])
        for place in places:
            self._texts[place] = new
        if new is not None and places:
            self._places[new].extend(places)

    def _arrange(self, order: tuple[str, ...]) -> None:
        there, listed = self.entries(), frozenset(order)
        present = frozenset(there)
        self._texts = [text for text in order if text in present]
        self._texts += [text for text in there if text not in listed]
        self._places = None


class MemoryDraft:
    """A memory while events are folded into it. A collection is copied when an event first changes it."""

    def __init__(self, memory: Memory) -> None:
        self._before = memory
        self._version = memory.version
        self._entries: dict[e.MemoryTarget, EntryDraft] = {}
        self._sets: dict[str, set[Any]] = {}
        self._observations: dict[str, Observed] | None = None
        self._has_observations = memory.has_observations

    def memory(self) -> Memory:
        """The memory after the events so far."""
        if self._version == self._before.version:
            return self._before
        observations = self._before.observations if self._observations is None else self._observations
        changed: dict[str, Any] = {target: draft.entries() for target, draft in self._entries.items()}
        changed |= {field: frozenset(values) for field, values in self._sets.items()}
        return replace(
            self._before,
            version=self._version,
            has_observations=self._has_observations,
            observations=observations,
            **changed,
        )

    def apply(self, event: e.MemoryEvent) -> None:
        """Apply one more event."""
        self._version += 1
        if event.undoes is not None:
            self._set("undone").add(event.undoes)
        if isinstance(event, e.MemoryConflicted | e.MemoryConfirmed):
            return
        if event.target not in self._entries:
            self._entries[event.target] = EntryDraft(self._before.entries(event.target))
        self._entries[event.target].apply(event)
        if isinstance(event, e.MemoryArranged):
            return
        if isinstance(event, e.MemoryReplaced | e.MemoryRemoved):
            self._drop(event.target, event.old)
        if isinstance(event, e.MemoryAdded | e.MemoryReplaced):
            self._describe(event)

    def _drop(self, target: e.MemoryTarget, old: str) -> None:
        if (target, old) in self._seen("persons"):
            self._set("persons").remove((target, old))
        if old in (self._before.observations if self._observations is None else self._observations):
            del self._own_observations()[old]

    def _describe(self, event: e.MemoryAdded | e.MemoryReplaced) -> None:
        entry = (event.target, event.content)
        if event.author in PERSONS:
            self._set("persons").add(entry)
        elif entry in self._seen("persons"):
            self._set("persons").remove(entry)
        if event.anyway:
            self._set("allowed").add(event.content)
        if OBSERVATION in event.tags:
            self._has_observations = True
        if event.observed:
            self._own_observations()[event.content] = Observed(event.observed, event.said_at, event.slot)

    def _seen(self, field: str) -> frozenset[Any] | set[Any]:
        return self._sets[field] if field in self._sets else getattr(self._before, field)

    def _set(self, field: str) -> set[Any]:
        if field not in self._sets:
            self._sets[field] = set(getattr(self._before, field))
        return self._sets[field]

    def _own_observations(self) -> dict[str, Observed]:
        if self._observations is None:
            self._observations = dict(self._before.observations)
        return self._observations


MARK = "§"
SEPARATOR = f"\n{MARK}\n"
TARGETS: tuple[e.MemoryTarget, ...] = ("memory", "user")
CLOSING = ".!;, "


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The most characters of each target in a prompt, the separators counted, and of one entry of it."""

    memory: int = 2_200
    user: int = 1_375

    def of(self, target: e.MemoryTarget) -> int:
        """The limit of a target."""
        return self.memory if target == "memory" else self.user


def evolve(memory: Memory, event: e.MemoryEvent) -> Memory:
    """The memory after one more event."""
    return fold(memory, (event,))


def fold(memory: Memory, events: Iterable[e.MemoryEvent]) -> Memory:
    """The memory after those events, in order. The state is copied once, not once for each event."""
    draft = MemoryDraft(memory)
    for event in events:
        draft.apply(event)
    return draft.memory()


def states_at(events: Sequence[e.MemoryEvent], versions: Iterable[int]) -> dict[int, Memory]:
    """The memory at each of those versions that exists, in one pass over the events."""
    states: dict[int, Memory] = {}
    memory = Memory()
    for version in sorted(set(versions)):
        if version <= len(events):
            memory = states[version] = fold(memory, events[memory.version : version])
    return states


def history(events: Sequence[e.MemoryEvent], after: int = 0) -> tuple[Memory, ...]:
    """The memory at each version from `after` on. Each is a copy of the state: keep the range short."""
    return tuple(accumulate(events[after:], evolve, initial=fold(Memory(), events[:after])))


def reading(text: str) -> str:
    """The text normalised for comparison: without case, blanks and a closing mark."""
    return " ".join(text.casefold().split()).rstrip(CLOSING)


def chars(entries: Sequence[str]) -> int:
    """How many characters the entries have, with the separators between them."""
    return len(SEPARATOR.join(entries))


def fill(entries: Sequence[str], limit: int) -> str:
    """The fill level of a target, such as `62% — 1,364/2,200 chars`."""
    size = chars(entries)
    return f"{size * 100 // limit}% — {size:,}/{limit:,} chars"


def quoted(entries: Iterable[str]) -> str:
    """The full entries, as a model sees them in an answer."""
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
    """The entries as the text of a file."""
    return f"{SEPARATOR.join(entries)}\n" if entries else ""


def entries_of(text: str) -> tuple[str, ...]:
    """The entries in a file's text, each once, however a person has placed the lines between them."""
    entries: list[list[str]] = [[]]
    for line in text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if line.strip() == MARK:
            entries.append([])
        else:
            entries[-1].append(line)
    texts = ("\n".join(lines).strip() for lines in entries)
    return tuple(dict.fromkeys(entry for entry in texts if entry))
