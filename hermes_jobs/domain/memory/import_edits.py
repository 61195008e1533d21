"""What a person did to the memory's files in an editor, as events: a three-way merge, entry by entry.

The base is what the editor began from (`hermes_jobs.domain.hand_edits`). For each entry of the base:

| the person  | the log since then  | then                                                       |
|-------------|---------------------|------------------------------------------------------------|
| removed it  | left it             | it is removed                                              |
| removed it  | changed it          | the changed one stays, and the conflict is recorded        |
| changed it  | left it             | it is replaced                                             |
| changed it  | changed it          | both forms stay, and the conflict is recorded              |
| changed it  | removed it          | the person's form stays, and the conflict is recorded      |

Entries that either side added stay. An order that the person gave the entries stays.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256

from hermes_jobs.domain import events as e
from hermes_jobs.domain.hand_edits import Content, base_of
from hermes_jobs.domain.memory.memory import EntryDraft, Memory, history, text_of

Entries = tuple[str, ...]

COPIED = 3  # steps that it counts for when an entry of the log's is new in a file
ALIKE = 0.5  # from which likeness on an entry in the place of another is the same one, changed


def import_edits(
    memory: Memory,
    target: e.MemoryTarget,
    saved: Content[Entries],
    *,
    contents: Sequence[Content[Entries]],
    followed: int,
    events: Sequence[e.MemoryEvent],
) -> tuple[e.MemoryEvent, ...]:
    """The events that a saved file comes to.

    `held` is what the file held before, as far as that is known, and `followed` the version of the log that
    the newest of it followed. `events` are all that the memory was folded from.
    """
    theirs, ours = saved.value, memory.entries(target)
    if theirs == ours or (contents and _is_written_since(theirs, target, events, followed)):
        return ()
    digest = digest_of(theirs)
    if any(
        event.file == digest and event.target == target for event in events[followed if contents else 0 :]
    ):
        return ()  # it was taken in by a process that died before it could write the file
    base = base_of(contents, saved, nearest=nearest, shares=_shares)
    if base is None:  # nothing is known of what the file held: what the log once had is not an edit
        past = [earlier.entries(target) for earlier in history(events)]
        base = theirs if theirs in past else nearest(past, theirs)
    return () if base == theirs else tuple(_Merge(target, digest, events).events(base, ours, theirs))


def _is_written_since(
    theirs: Entries, target: e.MemoryTarget, events: Sequence[e.MemoryEvent], followed: int
) -> bool:
    """Whether the file was written by a process that died before it could note that."""
    then, *later = (earlier.entries(target) for earlier in history(events, after=followed))
    return theirs in later and theirs != then


def digest_of(entries: Sequence[str]) -> str:
    """By what the content of a file is known again."""
    return sha256(text_of(entries).encode("utf-8", "replace")).hexdigest()[:32]


def nearest(contents: Sequence[Entries], theirs: Entries) -> Entries:
    """The entries from which an editor most likely began, of those that the file or the log had, in order.

    From those it took the fewest steps; the latest among equals. An entry that was there at some time was
    hardly typed.
    """
    ever = {entry for entries in contents for entry in entries}
    seen = {entries: at for at, entries in enumerate(contents)}
    best: tuple[tuple[int, int], Entries] | None = None
    for fewest, entries in sorted((_fewest_steps(candidate, theirs), candidate) for candidate in seen):
        if best is not None and fewest > best[0][0]:
            break
        steps = list(_steps(entries, theirs))
        cost = sum(COPIED if old is None and new in ever else 1 for old, new in steps)
        cost += _applied(entries, steps) != theirs  # another order is a step as well
        rank = (cost, -seen[entries])
        if best is None or rank < best[0]:
            best = (rank, entries)
    return best[1] if best is not None else ()


def _shares(newest: Entries, older: Entries, saved: Entries) -> bool:
    return any(entry in newest and entry not in older for entry in saved)


def _fewest_steps(base: Collection[str], theirs: Collection[str]) -> int:
    return max(len(set(base) - set(theirs)), len(set(theirs) - set(base)))


class _Merge:
    """One file's edit of one target, on the events that the log has."""

    def __init__(self, target: e.MemoryTarget, digest: str, events: Sequence[e.MemoryEvent]) -> None:
        self._target = target
        self._digest = digest
        self._facts = [event for event in events if event.target == target]

    def events(self, base: Entries, ours: Entries, theirs: Entries) -> Iterator[e.MemoryEvent]:
        """What the person did to the base, done to ours."""
        steps = list(_steps(base, theirs))
        now, draft = ours, EntryDraft(ours)
        for old, new in steps:
            for event in self._step(now, old, new):
                yield event
                draft.apply(event)
                now = draft.entries()
        if _applied(base, steps) != theirs:
            order = ordered(now, theirs)
            if order != now:
                yield e.MemoryArranged(
                    target=self._target,
                    entries=order,
                    old=now,
                    author="hand_edit",
                    file=self._digest,
                )

    def _step(self, now: Sequence[str], old: str | None, new: str | None) -> Iterator[e.MemoryEvent]:
        target, digest = self._target, self._digest
        if old is None:
            if new is not None and new not in now:
                yield e.MemoryAdded(target=target, content=new, author="hand_edit", file=digest)
        elif old in now:
            if new is None or new in now:
                yield e.MemoryRemoved(target=target, old=old, author="hand_edit", file=digest)
            else:
                yield e.MemoryReplaced(target=target, old=old, content=new, author="hand_edit", file=digest)
        else:
            yield from self._conflict(now, old, new)

    def _conflict(self, now: Sequence[str], old: str, new: str | None) -> Iterator[e.MemoryEvent]:
        """What is done about an entry that the log has changed or removed since."""
        became = self._became(old)
        ours = became if became in now else None
        if new in now or (new is None and ours is None):
            return
        target, digest = self._target, self._digest
        if new is not None:
            yield e.MemoryAdded(target=target, content=new, author="hand_edit", file=digest)
        yield e.MemoryConflicted(
            target=target, old=old, ours=ours, theirs=new, author="hand_edit", file=digest
        )

    def _became(self, entry: str) -> str | None:
        """What an entry that was there became; None where it was removed."""
        last = max((at for at, event in enumerate(self._facts) if _gives(event) == entry), default=-1)
        now: str | None = entry
        for event in self._facts[last + 1 :]:
            if isinstance(event, e.MemoryReplaced) and event.old == now:
                now = event.content
            elif isinstance(event, e.MemoryRemoved) and event.old == now:
                return None
        return now


def _gives(event: e.MemoryEvent) -> str | None:
    return event.content if isinstance(event, e.MemoryAdded | e.MemoryReplaced) else None


def ordered(entries: Sequence[str], order: Sequence[str]) -> Entries:
    """The entries in the wanted order; each that is not in it follows the one that it followed before."""
    there = set(entries)
    result = [entry for entry in order if entry in there]
    before: str | None = None
    for entry in entries:
        if entry not in order:
            result.insert(result.index(before) + 1 if before is not None else 0, entry)
        before = entry
    return tuple(result)


def _applied(base: Sequence[str], steps: Sequence[tuple[str | None, str | None]]) -> Entries:
    """The base after the steps, where nothing was put into another order."""
    became = {old: new for old, new in steps if old is not None}
    edited = [became.get(entry, entry) for entry in base]
    return (
        *(entry for entry in edited if entry is not None),
        *(new for old, new in steps if old is None and new is not None),
    )


def _steps(base: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
    """What was done, as (before, after): None before is a new entry, None after one that is gone."""
    removed = [entry for entry in base if entry not in theirs]
    new = [entry for entry in theirs if entry not in base]
    for old in removed:
        after = max(new, key=lambda entry: _likeness(old, entry), default=None)
        if after is not None and _likeness(old, after) >= ALIKE:
            new.remove(after)
            yield old, after
        else:
            yield old, None
    for entry in new:
        yield None, entry


@lru_cache(maxsize=4096)
def _likeness(one: str, other: str) -> float:
    """From 0 to 1; an entry that holds the other is that one, longer."""
    if one in other or other in one:
        return 1.0
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()
