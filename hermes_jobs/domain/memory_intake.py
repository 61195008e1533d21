"""What a person did to the memory's files in an editor, as facts.

| the file has                        | then                                                           |
|-------------------------------------|----------------------------------------------------------------|
| what the log has                    | nothing                                                        |
| what the log had at any time before | it is stale, and no edit                                       |
| what was taken in before            | it was not written anew after that, and is no edit             |
| anything else                       | what was done to the nearest of all that the log ever had is   |
|                                     | done to what it has now                                        |

Nobody's words are lost: what both changed stands in both forms afterwards.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256

from hermes_jobs.domain import events as e
from hermes_jobs.domain.memory import Memory, entries_of, history, text_of

COPIED = 3  # steps that it counts for when an entry of the log's is new in a file
ALIKE = 0.5  # from which likeness on an entry in the place of another is the same one, changed


def taken_in(
    memory: Memory, target: e.MemoryTarget, file: str, facts: Sequence[e.MemoryEvent]
) -> tuple[e.MemoryEvent, ...]:
    """The facts that a file's text comes to. `facts` are all that the memory was folded from."""
    past = history(facts)
    theirs, ours = entries_of(file), memory.entries(target)
    digest = digest_of(theirs)
    if theirs == ours or any(each.entries(target) == theirs for each in past):
        return ()
    if any(fact.file == digest and fact.target == target for fact in facts):
        return ()
    base = nearest([each.entries(target) for each in past], theirs)
    return tuple(_edits(target, base, ours, theirs, digest))


def digest_of(entries: Sequence[str]) -> str:
    """By what a file that was taken in is known again."""
    return sha256(text_of(entries).encode("utf-8", "replace")).hexdigest()[:32]


def nearest(past: Sequence[tuple[str, ...]], theirs: Sequence[str]) -> tuple[str, ...]:
    """The entries from which an editor most likely began, of those that the log had at each version.

    From those it took the fewest steps, then the fewest characters changed; the later among equals. An entry
    that the log has had at some time was hardly typed.
    """
    ever = {entry for entries in past for entry in entries}
    seen = {entries: at for at, entries in enumerate(past)}
    best: tuple[tuple[int, int, int], tuple[str, ...]] | None = None
    for fewest, entries in sorted((_fewest_steps(each, theirs), each) for each in seen):
        if best is not None and fewest > best[0][0]:
            break
        steps = list(_steps(entries, theirs))
        cost = sum(COPIED if old is None and new in ever else 1 for old, new in steps)
        rank = (cost, _characters_changed(entries, theirs), -seen[entries])
        if best is None or rank < best[0]:
            best = (rank, entries)
    return best[1] if best is not None else ()


def _fewest_steps(base: Collection[str], theirs: Collection[str]) -> int:
    return max(len(set(base) - set(theirs)), len(set(theirs) - set(base)))


def _characters_changed(base: Sequence[str], theirs: Sequence[str]) -> int:
    was, wanted = Counter("".join(base)), Counter("".join(theirs))
    return (was - wanted).total() + (wanted - was).total()


def _edits(
    target: e.MemoryTarget, base: Sequence[str], ours: Sequence[str], theirs: Sequence[str], digest: str
) -> Iterator[e.MemoryEvent]:
    now = list(ours)
    for old, new in _steps(base, theirs):
        if old is not None and old in now:
            if new is None or new in now:
                now.remove(old)
                yield e.MemoryRemoved(target=target, old=old, author="hand_edit", file=digest)
            else:
                now[now.index(old)] = new
                yield e.MemoryReplaced(target=target, old=old, content=new, author="hand_edit", file=digest)
        elif new is not None and new not in now:
            now.append(new)
            yield e.MemoryAdded(target=target, content=new, author="hand_edit", file=digest)


def _steps(base: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
    """What was done, as (before, after): null before is a new entry, null after one that is gone."""
    gone = [entry for entry in base if entry not in theirs]
    new = [entry for entry in theirs if entry not in base]
    for old in gone:
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
