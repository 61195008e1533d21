"""Where in a text the words are that rules name: all of them in one pass, by an Aho-Corasick automaton."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import ahocorasick_rs

BLOCK = 64  # characters of a text; where the words of groups are is told by the block
_STEP = 32_768  # characters that are looked through at once: a hundred bytes for each of their words


class WordsFound(NamedTuple):
    """What of a text's words matters: for each group the blocks, as bits, in which one of its words begins.

    And where the words that begin matches are, in order.
    """

    groups: list[int]
    starts: Mapping[str, list[int]]


class WordFinder:
    """Looks for the words of groups, which are numbered, and for those that begin matches."""

    def __init__(self, groups: Mapping[tuple[str, ...], int], starts: Collection[str]) -> None:
        self._groups = len(groups)
        self._groups_of: dict[str, list[int]] = {}
        for group, number in groups.items():
            for word in set(group):
                self._groups_of.setdefault(word, []).append(number)
        self._words = sorted({*self._groups_of, *starts})
        self._starts = frozenset(starts)
        self._longest = max(map(len, self._words), default=0)
        self._automaton = ahocorasick_rs.AhoCorasick(self._words, store_patterns=False)

    def found(self, low: str) -> WordsFound:
        """What is in a text in lower case."""
        places: dict[int, list[int]] = {}
        for word, place in self._places(low):
            places.setdefault(word, []).append(place)
        groups = [0] * self._groups
        for word, at in places.items():
            if numbers := self._groups_of.get(self._words[word]):
                blocks = sum(1 << block for block in {place // BLOCK for place in at})
                for number in numbers:
                    groups[number] |= blocks
        named = ((self._words[word], at) for word, at in places.items())
        return WordsFound(groups, {word: at for word, at in named if word in self._starts})

    def _places(self, low: str) -> Iterator[tuple[int, int]]:
        for first in range(0, len(low), _STEP):
            part = low[first : first + _STEP + self._longest]
            for word, start, _ in self._automaton.find_matches_as_indexes(part, overlapping=True):
                if start < _STEP:
                    yield word, first + start
