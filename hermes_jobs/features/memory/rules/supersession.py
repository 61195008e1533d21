"""Supersession of observations: of two that fill the same slot, the one stated later replaces the other. The
slot is read from the text by rules (`text.slots`), or named by the model. An observation that was stated
later but is about an earlier day replaces nothing: both stay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hermes_jobs.features.memory.rules.memory import Observed
from hermes_jobs.text.search.folding import fold
from hermes_jobs.text.slots import are_opposed, slot_of


class Rivals(NamedTuple):
    """The observations that contradict another one: those it replaces, the newest first, and whether one of
    them is newer."""

    older: tuple[str, ...]
    has_newer: bool


class Slots:
    """The observations by the slots that they fill. `observations` are by their texts."""

    def __init__(self, observations: Mapping[str, Observed]) -> None:
        self._observations = dict(observations)
        self._by_slot: defaultdict[str, list[str]] = defaultdict(list)
        for text, each in observations.items():
            self._note(text, each)

    def rivals(self, text: str, new: Observed) -> Rivals:
        """The observations that contradict that one."""
        others = {
            other
            for slot in _slots(text, new)
            for other in self._by_slot[slot]
            if other in self._observations
        }
        met = [other for other in others if _is_opposed(text, new, other, self._observations[other])]
        older = [other for other in met if _follows(new, self._observations[other])]
        older.sort(key=lambda other: (self._observations[other], other), reverse=True)
        return Rivals(tuple(older), any(_follows(self._observations[other], new) for other in met))

    def add(self, text: str, new: Observed, older: tuple[str, ...]) -> None:
        """Add it, in place of the older ones."""
        for other in older:
            del self._observations[other]
        self._observations[text] = new
        self._note(text, new)

    def _note(self, text: str, observed: Observed) -> None:
        for slot in _slots(text, observed):
            self._by_slot[slot].append(text)


def named(slot: str) -> str:
    """The slot named by a model, normalised for comparison; empty for none."""
    return fold(" ".join(slot.split()))


def _slots(text: str, observed: Observed) -> Iterator[str]:
    if named(observed.slot):
        yield f"named {named(observed.slot)}"
    read = slot_of(text)
    if read is not None:
        yield f"read {read.name}"


def _is_opposed(text: str, new: Observed, other: str, other_observed: Observed) -> bool:
    """Whether the model has named the same slot for both, or their values contradict each other."""
    if new.slot and named(new.slot) == named(other_observed.slot):
        return True
    one, two = slot_of(text), slot_of(other)
    return one is not None and two is not None and are_opposed(one.value, two.value)


def _follows(new: Observed, old: Observed) -> bool:
    later = new.day >= old.day and new.said_at >= old.said_at
    return later and (new.day, new.said_at) != (old.day, old.said_at)
