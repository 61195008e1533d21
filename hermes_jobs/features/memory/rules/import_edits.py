"""Converts a person's edit of a memory file into events: a three-way merge, entry by entry.

The base is the content that the editor opened (`hermes_jobs.folders.hand_edits`). For each entry of the base:

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

from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.rules.memory import EntryDraft, Memory, history, text_of
from hermes_jobs.folders.hand_edits import Content, base_of

Entries = tuple[str, ...]

COPIED = 3  # the number of steps that an entry known to the log counts for when it is new in a file
ALIKE = 0.5  # the similarity above which an entry in another's place is that one, changed


def import_edits(
    memory: Memory,
    target: e.MemoryTarget,
    saved: Content[Entries],
    *,
    contents: Sequence[Content[Entries]],
    followed: int,
    events: Sequence[e.MemoryEvent],
) -> tuple[e.MemoryEvent, ...]:
    """The events that a saved file results in. `contents` are the known earlier contents of the file, and
    `followed` is the version of the memory at the newest of these. `events` are all events of the memory.
    """
    theirs, ours = saved.value, memory.entries(target)
    if theirs == ours or (contents and _is_written_since(theirs, target, events, followed)):
        return ()
    digest = digest_of(theirs)
    if any(
        event.file == digest and event.target == target for event in events[followed if contents else 0 :]
    ):
        return ()  # a process imported it and died before it could write the file
    base = base_of(contents, saved, nearest=nearest, shares=_shares)
    if base is None:  # the earlier contents of the file are unknown: a former state of the log is not an edit
        past = [earlier.entries(target) for earlier in history(events)]
        base = theirs if theirs in past else nearest(past, theirs)
    return () if base == theirs else tuple(_Merge(target, digest, events).events(base, ours, theirs))


def _is_written_since(
    theirs: Entries, target: e.MemoryTarget, events: Sequence[e.MemoryEvent], followed: int
) -> bool:
    """Whether a process wrote the file and died before it could record that."""
    then, *later = (earlier.entries(target) for earlier in history(events, after=followed))
    return theirs in later and theirs != then


def digest_of(entries: Sequence[str]) -> str:
    """The digest by which the content of a file is recognised."""
    return sha256(text_of(entries).encode("utf-8", "replace")).hexdigest()[:32]


def nearest(contents: Sequence[Entries], theirs: Entries) -> Entries:
    """The entries that the editor most likely opened, among the given former contents, in order: those with
    the fewest steps to the saved ones, the latest among equals. An entry that existed before was probably not
    typed again.
    """
    ever = {entry for entries in contents for entry in entries}
    seen = {entries: at for at, entries in enumerate(contents)}
    best: tuple[tuple[int, int], Entries] | None = None
    for fewest, entries in sorted((_fewest_steps(candidate, theirs), candidate) for candidate in seen):
        if best is not None and fewest > best[0][0]:
            break
        steps = list(_steps(entries, theirs))
        cost = sum(COPIED if old is None and new in ever else 1 for old, new in steps)
        cost += _applied(entries, steps) != theirs  # another order counts as a step
        rank = (cost, -seen[entries])
        if best is None or rank < best[0]:
            best = (rank, entries)
    return best[1] if best is not None else ()


def _shares(newest: Entries, older: Entries, saved: Entries) -> bool:
    return any(entry in newest and entry not in older for entry in saved)


def _fewest_steps(base: Collection[str], theirs: Collection[str]) -> int:
    return max(len(set(base) - set(theirs)), len(set(theirs) - set(base)))


class _Merge:
    """The edit of one target's file, merged with the events of the log."""

    def __init__(self, target: e.MemoryTarget, digest: str, events: Sequence[e.MemoryEvent]) -> None:
        self._target = target
        self._digest = digest
        self._facts = [event for event in events if event.target == target]

    def events(self, base: Entries, ours: Entries, theirs: Entries) -> Iterator[e.MemoryEvent]:
        """The person's changes of the base, applied to ours."""
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
        """The event for an entry that the log has changed or removed since."""
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
        """The current text of a former entry; None if it was removed."""
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
    """The entries in that order; an entry that is not in it stays behind its predecessor."""
    there = set(entries)
    result = [entry for entry in order if entry in there]
    before: str | None = None
    for entry in entries:
        if entry not in order:
            result.insert(result.index(before) + 1 if before is not None else 0, entry)
        before = entry
    return tuple(result)


def _applied(base: Sequence[str], steps: Sequence[tuple[str | None, str | None]]) -> Entries:
    """The base after the steps, without a change of order."""
    became = {old: new for old, new in steps if old is not None}
    edited = [became.get(entry, entry) for entry in base]
    return (
        *(entry for entry in edited if entry is not None),
        *(new for old, new in steps if old is None and new is not None),
    )


def _steps(base: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
    """The steps as (before, after): None before is a new entry, None after a removed one."""
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
    """The similarity from 0 to 1; an entry that contains the other counts as that one, extended."""
    if one in other or other in one:
        return 1.0
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()
