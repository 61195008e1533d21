"""What the agent knows, as state: the entries of both targets, folded from the stream `memory`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain import events as e

STREAM = "memory"
MARK = "§"
SEPARATOR = f"\n{MARK}\n"
TARGETS: tuple[e.MemoryTarget, ...] = ("memory", "user")


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of the memory's stream at `version`: the entries of each target, oldest first, none twice.

    `undone`: the versions of the writes that were taken back.
    """

    stream: str = STREAM
    version: int = 0
    memory: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    undone: frozenset[int] = frozenset()

    def entries(self, target: e.MemoryTarget) -> tuple[str, ...]:
        """The entries of a target."""
        return self.memory if target == "memory" else self.user


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The most characters that each target may have, the separators counted."""

    memory: int = 2_200
    user: int = 1_375

    def of(self, target: e.MemoryTarget) -> int:
        """The limit of a target."""
        return self.memory if target == "memory" else self.user


def evolve(memory: Memory, event: e.MemoryEvent) -> Memory:
    """The memory after one more fact."""
    entries = memory.entries(event.target)
    match event:
        case e.MemoryAdded():
            entries = (*entries, event.content)
        case e.MemoryReplaced():
            entries = tuple(event.content if each == event.old else each for each in entries)
        case e.MemoryRemoved():
            entries = tuple(each for each in entries if each != event.old)
        case _:
            assert_never(event)
    undone = memory.undone if event.undoes is None else memory.undone | {event.undoes}
    memory = replace(memory, version=memory.version + 1, undone=undone)
    return replace(memory, memory=entries) if event.target == "memory" else replace(memory, user=entries)


def history(facts: Iterable[e.MemoryEvent]) -> tuple[Memory, ...]:
    """The memory at each version, from version 0 on."""
    return tuple(accumulate(facts, evolve, initial=Memory()))


def chars(entries: Sequence[str]) -> int:
    """How many characters the entries have, with the separators between them."""
    return len(SEPARATOR.join(entries))


def fill(entries: Sequence[str], limit: int) -> str:
    """How full a target is, such as `62% — 1,364/2,200 chars`."""
    size = chars(entries)
    return f"{size * 100 // limit}% — {size:,}/{limit:,} chars"


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
