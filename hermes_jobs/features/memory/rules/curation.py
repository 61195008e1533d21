"""The curator of the memory: proposals by rules that need no model, and their application.

| rule         | the entry                                                       | what is proposed      |
|--------------|-----------------------------------------------------------------|-----------------------|
| same         | reads like another, but for case, blanks and a closing mark     | to remove it          |
| expired      | has expired, as its kind says                                   | to remove it          |
| crowded      | is `identity`, and prompts have no room for it                  | to make it `episodic` |
| contained    | is what another begins with, which has at most twice as many    | to remove it          |
|              | words, and denies nothing in the rest                           |                       |
| contradicted | is older than another with which it shares most of its words,   | a question: whether   |
|              | or that gives the same slot another value (`text.slots`)        | to remove it          |
| harmful      | makes answers worse, as a verification found                    | to remove it          |

The first three may be applied automatically, except to entries of a person. The others may be wrong and need
a person's approval; `contradicted` is a question about one entry, never applied together with others. Words
in common prove nothing: "likes tea" is in "no longer likes tea" and in "her brother likes tea".
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.rules.entries import ELSEWHERE, Entry, Placement, in_order
from hermes_jobs.features.memory.rules.likeness import FEWEST, are_alike, contains, share
from hermes_jobs.features.memory.rules.memory import PERSONS, STREAM, Memory, evolve, reading
from hermes_jobs.features.memory.rules.provenance import opposite
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader, StreamEvents
from hermes_jobs.text.figures import pluralize
from hermes_jobs.text.polarity import denied
from hermes_jobs.text.search.question import root_sequence, roots
from hermes_jobs.text.slots import are_opposed, slot_of

Rule = Literal["same", "expired", "crowded", "contained", "contradicted", "harmful"]
SAFE: frozenset[Rule] = frozenset({"same", "expired", "crowded"})
RAREST = 3  # words of an entry by which similar entries are searched
MANY = 50  # a word in more entries than this is not searched for


class MemoryProposal(msgspec.Struct, frozen=True):
    """A proposal for an entry; `other` is the entry that it is compared with."""

    rule: Rule
    entry: Entry
    why: str
    other: Entry | None = None

    @property
    def is_safe(self) -> bool:
        """Whether it may be applied automatically."""
        return self.rule in SAFE and self.entry.author not in PERSONS


def proposals(places: Placement, harmful: Mapping[int, str] | None = None) -> tuple[MemoryProposal, ...]:
    """At most one for each entry, in the order of the rules. `harmful`: why entries make answers worse, by
    the versions of the writes that made them."""
    entries = in_order(places)
    by_entry: dict[Entry, MemoryProposal] = {}
    why = harmful or {}
    worse = [
        MemoryProposal("harmful", entry, why[entry.version]) for entry in entries if entry.version in why
    ]
    safe = (*_same(entries), *_expired(places), *_crowded(places))
    for proposal in (*worse, *safe, *_by_slots(entries), *_by_words(entries)):
        is_removed = (
            proposal.other is not None
            and proposal.other in by_entry
            and by_entry[proposal.other].rule != "crowded"
        )
        if proposal.entry not in by_entry and not is_removed:
            by_entry[proposal.entry] = proposal
    return tuple(by_entry.values())


def _same(entries: Iterable[Entry]) -> Iterator[MemoryProposal]:
    by_reading: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_reading[reading(entry.text)].append(entry)
    for alike in by_reading.values():
        best, *others = sorted(alike, key=_worth)
        for other in others:
            yield MemoryProposal("same", other, f"it says the same as “{best.text}”", best)


def _worth(entry: Entry) -> tuple[bool, tuple[int, int]]:
    """The sort key of entries to keep: those of a person first, then those that come first into prompts."""
    return entry.author not in PERSONS, entry.rank


def _expired(places: Placement) -> Iterator[MemoryProposal]:
    for entry, why in places.left_out.items():
        if why != ELSEWHERE:
            yield MemoryProposal("expired", entry, why)


def _crowded(places: Placement) -> Iterator[MemoryProposal]:
    for entry in places.recalled:
        if entry.kind == "identity":
            yield MemoryProposal("crowded", entry, "prompts have no room for it")


def _by_slots(entries: Sequence[Entry]) -> Iterator[MemoryProposal]:
    """Contradicted entries: those that give a slot another value than its newest entry."""
    by_slot: defaultdict[str, list[tuple[Entry, str]]] = defaultdict(list)
    for entry in entries:
        slot = slot_of(entry.text)
        if slot is not None:
            by_slot[slot.name].append((entry, slot.value))
    for filled in by_slot.values():
        newest, value = max(filled, key=lambda one: _newness(one[0]))
        yield from (_contradicted(older, newest) for older, other in filled if are_opposed(other, value))


def _newness(entry: Entry) -> tuple[str, int]:
    """The sort key of what holds: an observation by the day of its statement, others by their last write or
    confirmation."""
    return entry.observed or entry.touched_at[:10], entry.touched


def _by_words(entries: Sequence[Entry]) -> Iterator[MemoryProposal]:
    """Contained and contradicted entries. Only entries with a rare word in common are compared."""
    words = [roots(entry.text) for entry in entries]
    holding = Counter(root for own in words for root in own)
    by_root: defaultdict[str, list[int]] = defaultdict(list)
    for at, own in enumerate(words):
        for root in own:
            if 1 < holding[root] <= MANY:
                by_root[root].append(at)
    for at, own in enumerate(words):
        if len(own) < FEWEST:
            continue
        rarest = sorted((root for root in own if root in by_root), key=lambda root: (holding[root], root))
        near = Counter(other for root in rarest[:RAREST] for other in by_root[root] if other != at)
        most = max(near.values(), default=0)
        alike = (other for other in near if near[other] == most)
        best = max(alike, key=lambda other: (share(own, words[other]), other), default=None)
        if best is not None:
            yield from _compared(entries[at], entries[best], own, words[best])


def _compared(
    entry: Entry, other: Entry, own: frozenset[str], others: frozenset[str]
) -> Iterator[MemoryProposal]:
    if contains(others, own) and _begins_with(other.text, entry.text):
        if own != others or _worth(other) < _worth(entry):
            yield MemoryProposal("contained", entry, f"“{other.text}” says it too", other)
        return
    differ = not others <= own or denied(entry.text) != denied(other.text)
    if differ and are_alike(own, others) and _newness(entry) < _newness(other):
        yield _contradicted(entry, other)


def _begins_with(text: str, beginning: str) -> bool:
    """Whether the text has the words of the beginning, in their order, and denies nothing after them."""
    words, first = root_sequence(text), root_sequence(beginning)
    return words[: len(first)] == first and denied(text) == denied(beginning)


def _contradicted(entry: Entry, other: Entry) -> MemoryProposal:
    why = f"does “{other.text}”, of {other.touched_at[:10]}, replace it?"
    return MemoryProposal("contradicted", entry, why, other)


class Curate:
    """The decision that applies all proposals. `version` is that of the memory for which they were made,
    `curation` an id by which they can be undone together."""

    def __init__(
        self, chosen: Sequence[MemoryProposal], version: int, curation: str, author: e.Author
    ) -> None:
        self._proposals = chosen
        self._version = version
        self._curation = curation
        self._author = author

    def __call__(self, load: StateLoader) -> DecisionResult:
        """See `Decision`."""
        memory: Memory = load(STREAM)
        if memory.version != self._version:
            raise Rejected(
                "The memory has changed since these were proposed; nothing was done.",
                kind="memory_changed",
                hint="`hermes-jobs memory curate` proposes again.",
            )
        events = tuple(map(self._event, self._proposals))
        answer = f"{pluralize(len(events), 'change')} to the memory"
        return DecisionResult(writes=(StreamEvents(STREAM, events),) if events else (), answer=answer)

    def _event(self, proposal: MemoryProposal) -> e.MemoryEvent:
        entry = proposal.entry
        if proposal.rule == "crowded":
            return e.MemoryReplaced(
                target=entry.target,
                old=entry.text,
                content=entry.text,
                author=self._author,
                kind="episodic",
                why=proposal.why,
                curation=self._curation,
            )
        return e.MemoryRemoved(
            target=entry.target,
            old=entry.text,
            author=self._author,
            why=proposal.why,
            curation=self._curation,
        )


def curations(events: Sequence[e.MemoryEvent]) -> Mapping[str, tuple[int, ...]]:
    """The versions of the writes of each curation, by its id, the first one first."""
    by_id: defaultdict[str, list[int]] = defaultdict(list)
    for version, event in enumerate(events, start=1):
        if isinstance(event, e.MemoryRemoved | e.MemoryReplaced) and event.curation:
            by_id[event.curation].append(version)
    return {curation: tuple(versions) for curation, versions in by_id.items()}


class UndoCuration:
    """The decision that undoes the newest curation that was not undone, as far as its entries are unchanged.
    `events` are all events of the memory.
    """

    def __init__(self, events: Sequence[e.MemoryEvent]) -> None:
        self._events = events

    def __call__(self, load: StateLoader) -> DecisionResult:
        """See `Decision`. Raises `Rejected` where there is none."""
        memory: Memory = load(STREAM)
        for versions in reversed(tuple(curations(self._events[: memory.version]).values())):
            remaining = [version for version in versions if version not in memory.undone]
            back = tuple(self._back(memory, remaining))
            if back:
                num_kept = len(remaining) - len(back)
                answer = f"{pluralize(len(back), 'change')} of the curator undone"
                answer += f"; {num_kept} could not be: the entries were changed since" * bool(num_kept)
                return DecisionResult(writes=(StreamEvents(STREAM, back),), answer=f"{answer}.")
        raise Rejected(
            "There is nothing that the curator did and that was not undone.",
            kind="memory_nothing_to_undo",
            hint="`hermes-jobs memory log` lists all writes.",
        )

    def _back(self, memory: Memory, versions: Sequence[int]) -> Iterator[e.MemoryEvent]:
        for version in reversed(versions):
            try:
                event = opposite(memory, version, self._events[version - 1])
            except Rejected:
                continue
            memory = evolve(memory, event)
            yield event
