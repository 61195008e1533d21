"""The metadata of each entry: origin, kind, confirmations and uses; and its placement in prompts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypedDict

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.rules.memory import OBSERVATION, SEPARATOR, TARGETS, Limits, Memory
from hermes_jobs.text.scan.scanner import scan

USUAL: Mapping[e.MemoryTarget, e.MemoryClass] = {"user": "identity", "memory": "episodic"}
CONFIRMATION = 20  # a confirmation moves an entry up as if it had been written so many writes later
EXPIRED = "it was neither confirmed nor recalled for too long"
ELSEWHERE = "it is of one session alone"
RANKS: Mapping[e.MemoryClass, int] = {"working": 0, "identity": 1, "episodic": 2}


class Recorded(NamedTuple):
    """A write to the memory: its version, its event, when it was recorded (ISO 8601, UTC)."""

    version: int
    event: e.MemoryEvent
    at: str


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry. `version` is the write of its current text, `touched` the last write that changed or
    confirmed it; `evidence` is that of the first. `place` is its line in its file, from 0. `uses` counts
    turns for which it was recalled. `provisional`, `observed`, `observed_in`, `slot`: see `MemoryAdded`."""

    target: e.MemoryTarget
    text: str
    kind: e.MemoryClass
    version: int
    written_at: str
    touched: int
    touched_at: str
    author: e.Author
    evidence: e.Evidence | None = None
    tags: tuple[str, ...] = ()
    confirmations: int = 0
    place: int = 0
    provisional: bool = False
    uses: int = 0
    used_at: str = ""
    observed: str = ""
    observed_in: tuple[str, ...] = ()
    slot: str = ""

    @property
    def is_observation(self) -> bool:
        """Whether it is an observation, which is only recalled and never in prompts."""
        return self.kind == "episodic" and OBSERVATION in self.tags

    @property
    def day(self) -> str:
        """The day of its statement (ISO 8601): for an observation its own, else that of its write."""
        return self.observed or self.written_at[:10]

    @property
    def rank(self) -> tuple[int, int]:
        """The sort key for prompts, the first first: by kind, then the newest; confirmations count as
        newer."""
        return RANKS[self.kind], -(self.touched + CONFIRMATION * self.confirmations)

    @property
    def review(self) -> str:
        """The review whose verification tests it; empty if it is not provisional."""
        return self.evidence.session if self.provisional and self.evidence is not None else ""

    @property
    def last_at(self) -> str:
        """When it was last written, confirmed or recalled."""
        return max(self.touched_at, self.used_at)


class _OfObservation(TypedDict):
    observed: str
    observed_in: tuple[str, ...]
    slot: str


class Uses(NamedTuple):
    """The number of turns for which an entry was recalled, and the time of the last."""

    uses: int
    used_at: str


def entries_with_history(memory: Memory, writes: Iterable[Recorded]) -> tuple[Entry, ...]:
    """The current entries with their metadata from the writes, in the order of their files."""
    by_text: dict[tuple[e.MemoryTarget, str], Entry] = {}
    before: dict[int, Entry] = {}
    for write in writes:
        _apply(by_text, before, write)
    return tuple(
        replace(by_text[target, text], place=place)
        for target in TARGETS
        for place, text in enumerate(memory.entries(target))
    )


def with_uses(entries: Sequence[Entry], uses: Mapping[int, Uses]) -> tuple[Entry, ...]:
    """The entries with their uses, by the versions of the writes that made them."""
    return tuple(
        replace(entry, uses=uses[entry.version].uses, used_at=uses[entry.version].used_at)
        if entry.version in uses
        else entry
        for entry in entries
    )


def _apply(
    by_text: dict[tuple[e.MemoryTarget, str], Entry], before: dict[int, Entry], write: Recorded
) -> None:
    """Apply one write. `before` has the entry that each write changed, for its undo."""
    event = write.event
    if isinstance(event, e.MemoryArranged | e.MemoryConflicted):
        return
    old = event.content if isinstance(event, e.MemoryAdded | e.MemoryConfirmed) else event.old
    was = by_text.get((event.target, old))
    if was is not None:
        before[write.version] = was
    if isinstance(event, e.MemoryConfirmed):
        if was is not None:
            by_text[event.target, old] = replace(
                was, touched=write.version, touched_at=write.at, confirmations=was.confirmations + 1
            )
        return
    by_text.pop((event.target, old), None)
    if isinstance(event, e.MemoryRemoved):
        return
    restored = before.get(event.undoes) if event.undoes is not None else None
    if restored is not None and restored.text == event.content:
        by_text[event.target, event.content] = restored
    else:
        by_text[event.target, event.content] = _entry(write, event, was)


def _entry(write: Recorded, event: e.MemoryAdded | e.MemoryReplaced, was: Entry | None) -> Entry:
    kind = event.kind or (was.kind if was is not None else USUAL[event.target])
    tags = event.tags or (was.tags if was is not None else ())
    if was is not None and was.text == event.content:  # its kind or its tags have changed
        return replace(was, kind=kind, tags=tags)
    return Entry(
        target=event.target,
        text=event.content,
        kind=kind,
        version=write.version,
        written_at=write.at,
        touched=write.version,
        touched_at=write.at,
        author=event.author,
        evidence=event.evidence,
        tags=tags,
        provisional=event.provisional,
        **_observed(event, was),
    )


def _observed(event: e.MemoryAdded | e.MemoryReplaced, was: Entry | None) -> _OfObservation:
    """The day, the turns and the slot of an observation; an entry that replaces one keeps them."""
    of = was if was is not None and isinstance(event, e.MemoryReplaced) and not event.observed else event
    return {"observed": of.observed, "observed_in": of.observed_in, "slot": of.slot}


class Since(NamedTuple):
    """The limits (ISO 8601, UTC): an entry that was last written, confirmed or recalled before its limit has
    expired; empty for no limit."""

    episodic: str = ""
    working: str = ""


NEVER = Since()


class Placement(NamedTuple):
    """The placement of entries for a session, in the order of the files: in the prompt, with the scan rule
    that replaces the entry by a note (None: the entry itself); only recalled; or left out, with the
    reason."""

    prompt: Mapping[Entry, str | None]
    recalled: tuple[Entry, ...]
    left_out: Mapping[Entry, str]

    def in_prompt(self, target: e.MemoryTarget) -> tuple[str, ...]:
        """The texts of a target in the prompt."""
        return tuple(
            entry.text for entry, rule in self.prompt.items() if rule is None and entry.target == target
        )


def placed(
    entries: Sequence[Entry],
    limits: Limits,
    *,
    allowed: Collection[str] = (),
    lineage: str = "",
    since: Since = NEVER,
) -> Placement:
    """The placement of the entries in a session of that lineage; empty: of a lineage that wrote none of them.
    An entry that matches a scan rule is replaced by a note, but counts towards the limit, unless its text is
    `allowed`.
    """
    left_out = {entry: why for entry in entries if (why := _elsewhere(entry, lineage, since))}
    candidates = [entry for entry in entries if entry not in left_out]
    chosen = {entry for target in TARGETS for entry in _fitting(candidates, target, limits.of(target))}
    rest = [entry for entry in candidates if entry not in chosen]
    left_out |= dict.fromkeys((entry for entry in rest if _has_expired(entry, since)), EXPIRED)
    return Placement(
        {
            entry: None if entry.text in allowed else _rule(entry.text)
            for entry in candidates
            if entry in chosen
        },
        tuple(entry for entry in rest if entry not in left_out),
        left_out,
    )


def _rule(text: str) -> str | None:
    """The scan rule that a text matches."""
    findings = scan(text)
    return findings[0].rule if findings else None


def in_order(places: Placement) -> list[Entry]:
    """All entries, those of each target in the order of their files."""
    every = (*places.prompt, *places.recalled, *places.left_out)
    return sorted(every, key=lambda entry: (TARGETS.index(entry.target), entry.place))


def _elsewhere(entry: Entry, lineage: str, since: Since) -> str:
    """The reason why a working entry does not apply to a session of that lineage; empty for all others."""
    if entry.kind != "working":
        return ""
    if entry.touched_at < since.working:
        return "it was of one session, and has expired"
    mine = entry.evidence is not None and entry.evidence.session == lineage
    return "" if mine else ELSEWHERE


def _has_expired(entry: Entry, since: Since) -> bool:
    return entry.kind == "episodic" and entry.last_at < since.episodic


def _fitting(entries: Iterable[Entry], target: e.MemoryTarget, limit: int) -> Iterable[Entry]:
    """The entries of a target that fit the limit, in order of rank."""
    available = limit + len(SEPARATOR)
    own = (candidate for candidate in entries if candidate.target == target and not candidate.is_observation)
    for entry in sorted(own, key=lambda candidate: candidate.rank):
        size = len(entry.text) + len(SEPARATOR)
        if size <= available:
            available -= size
            yield entry
