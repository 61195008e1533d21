"""What the agent knows, as state: the entries of both targets, folded from the stream `memory`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

import msgspec

from hermes_jobs.domain import events as e
from hermes_jobs.domain.memory.draft import OBSERVATION, PERSONS, STREAM, Memory, MemoryDraft, Observed

__all__ = ["OBSERVATION", "PERSONS", "STREAM", "Memory", "Observed"]

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
        draft.take_in(event)
    return draft.memory()


def states_at(facts: Sequence[e.MemoryEvent], versions: Iterable[int]) -> dict[int, Memory]:
    """The memory at each of those versions that exists, in one pass over the events."""
    found: dict[int, Memory] = {}
    memory = Memory()
    for version in sorted(set(versions)):
        if version <= len(facts):
            memory = found[version] = fold(memory, facts[memory.version : version])
    return found


def history(facts: Sequence[e.MemoryEvent], after: int = 0) -> tuple[Memory, ...]:
    """The memory at each version from `after` on. Each is a copy of the state: keep the range short."""
    return tuple(accumulate(facts[after:], evolve, initial=fold(Memory(), facts[:after])))


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
