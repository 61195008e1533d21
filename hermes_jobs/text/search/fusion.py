"""Several rankings as one: reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T", bound=Hashable)
K = TypeVar("K", bound=Hashable)

DAMPING = 60  # as in the paper: how little the first rank is ahead of the second


class Fused(NamedTuple, Generic[K, T]):
    """A thing, and the rankings that have it."""

    thing: K
    tracks: tuple[T, ...]


def fused(rankings: Mapping[T, Sequence[K]]) -> list[Fused[K, T]]:
    """All things that are ranked, best first; equals in the order of the rankings."""
    worth: dict[K, float] = {}
    tracks: dict[K, tuple[T, ...]] = {}
    for track, things in rankings.items():
        for rank, thing in enumerate(dict.fromkeys(things), start=1):
            worth[thing] = worth.get(thing, 0.0) + 1 / (DAMPING + rank)
            tracks[thing] = (*tracks.get(thing, ()), track)
    return [Fused(thing, tracks[thing]) for thing in sorted(worth, key=lambda each: -worth[each])]
