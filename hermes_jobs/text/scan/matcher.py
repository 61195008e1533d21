"""Searching a text for the matches of rules.

A rule's pattern is only tried near its words, where one is with which a match begins; and in steps: between
two steps other threads run.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, groupby
from typing import NamedTuple

from hermes_jobs.text.scan import kept
from hermes_jobs.text.scan.rules import Branch, ScanRule, ScanRules
from hermes_jobs.text.scan.words import BLOCK

Span = tuple[int, int]

BLOCKS_AROUND = 3  # blocks around a rule's word in which its matches begin
REACH = 600  # characters: more than a match spans
STEP = 4_096  # characters that one call of a pattern may go through
BEFORE = 80  # characters before a match among which an excuse is looked for
BEYOND = 200  # characters after the part, for what a pattern looks ahead to
MOST_TRIES, TRIES_PER_CHARACTER, TRIES_OF_A_COPY = 500_000, 8, 8
"""What a search may cost, in characters that one pattern goes through; documentation costs up to 18 for each.
A character of a further normalization costs as much as some of these."""
COST_OF_START = 20  # of a try where a word is with which matches begin, besides the gaps that it goes through


class Match(NamedTuple):
    """A match that counts: `text[start:end]`."""

    rule: ScanRule
    start: int
    end: int


class Search(NamedTuple):
    """Every match that counts in the first `end` characters of a text, and what it cost."""

    matches: tuple[Match, ...]
    end: int
    tries: int


class _Place(NamedTuple):
    """A branch of a rule, and where its matches may begin.

    At `starts`, parts of lists; without them anywhere in the blocks, which are the bits of a number.
    """

    rule: ScanRule
    branch: Branch
    blocks: int
    starts: tuple[Sequence[int], ...] | None

    def cost(self, end: int) -> int:
        """What it costs to try the branch before this place, in characters."""
        if self.starts is None:
            return BLOCK * (self.blocks & (1 << end // BLOCK) - 1).bit_count()
        return (COST_OF_START + self.branch.gaps) * sum(bisect_left(part, end) for part in self.starts)

    def until(self, end: int) -> _Place:
        """The same, before this place."""
        starts = self.starts and tuple(part[: bisect_left(part, end)] for part in self.starts)
        return self._replace(blocks=self.blocks & (1 << end // BLOCK) - 1, starts=starts)


def most_tries(text: str) -> int:
    """What the search of a text, in all its normalizations, may cost."""
    return MOST_TRIES + TRIES_PER_CHARACTER * len(text)


def search(
    text: str,
    rules: ScanRules,
    *,
    only: Callable[[ScanRule], bool] | None = None,
    most: int | None = None,
) -> Search:
    """Search for the rules that `only` selects.

    It ends where patterns would be tried at more than `most` characters (None: at the text's end). What lies
    beyond is not worth its cost: only a text that is made for it is so full of words of many rules.
    """
    if most is not None and most <= 0:
        return Search((), 0, 0)
    low = lower(text)
    places = [place for place in _places(rules, low) if only is None or only(place.rule)]
    beyond = len(text) + BLOCK  # so that the last block is whole
    tries, end = sum(place.cost(beyond) for place in places), len(text)
    if most is not None and tries > most:
        end = _end_of_budget(places, most, len(text))
        places = [place.until(end) for place in places]
        tries = most
    return Search(tuple(_matches(text[:end], low[:end], places)), end, tries)


def _places(rules: ScanRules, low: str) -> Iterator[_Place]:
    """Where each branch of each rule may match: near a word of each group that it needs."""
    words = rules.words.found(low)
    absent = frozenset(group for group, found in enumerate(words.groups) if not found)
    everywhere = (1 << -(-len(low) // BLOCK)) - 1

    @cache
    def near(group: int) -> int:
        found = words.groups[group]
        for _ in range(BLOCKS_AROUND):
            found |= found << 1 | found >> 1
        return found

    for rule, branch, groups in rules.tried:
        if absent.isdisjoint(groups):
            found = everywhere
            for group in groups:
                found &= near(group)
            if found and not branch.starts:
                yield _Place(rule, branch, found, None)
            elif found:
                starts = (words.starts[word] for word in branch.starts if word in words.starts)
                if parts := tuple(_parts(starts, tuple(_runs(found)))):
                    yield _Place(rule, branch, found, parts)


def _parts(lists: Iterable[list[int]], spans: Sequence[Span]) -> Iterator[list[int]]:
    """What of each ordered list lies in the spans."""
    for each in lists:
        for start, end in spans:
            first = bisect_left(each, start)
            last = bisect_left(each, end, first)
            if last > first:
                yield each[first:last]


def _end_of_budget(places: Sequence[_Place], most: int, length: int) -> int:
    """The end of the last block up to which patterns are tried at no more than `most` characters."""
    first, last = 0, length // BLOCK
    while first < last:
        middle = (first + last + 1) // 2
        if sum(place.cost(middle * BLOCK) for place in places) <= most:
            first = middle
        else:
            last = middle - 1
    return first * BLOCK


def _matches(text: str, low: str, places: Sequence[_Place]) -> Iterator[Match]:
    """The matches that count, of one rule without overlaps; at one beginning that of its first branch."""
    for _, of_rule in groupby(places, lambda place: id(place.rule)):
        found: list[tuple[int, int, Match]] = []
        for at, place in enumerate(of_rule):
            rule = place.rule
            compiled = kept.compiled(place.branch.pattern, rule.flags)
            spans = _of_place(low if rule.in_lower_case else text, compiled, place)
            found += ((start, at, Match(rule, start, end)) for start, end in spans)
        done = 0
        for start, _, match in sorted(found, key=lambda each: each[:2]):
            if start >= done:
                done = match.end
                if not match.rule.is_excused(text[start:done], text[max(start - BEFORE, 0) : start]):
                    yield match


def _of_place(text: str, pattern: re.Pattern[str], place: _Place) -> Iterator[Span]:
    """The matches that begin there, without overlaps."""
    if place.starts is None:
        for part in _runs(place.blocks):
            yield from _in_part(text, pattern, part)
        return
    done = 0
    for start in sorted(chain.from_iterable(place.starts)):
        if start >= done and (match := pattern.match(text, start, start + STEP)):
            done = match.end()
            yield match.span()


def _runs(blocks: int) -> Iterator[Span]:
    """The spans of the text that these blocks make."""
    at = 0
    while blocks:
        first = (blocks & -blocks).bit_length() - 1
        blocks >>= first
        length = (~blocks & blocks + 1).bit_length() - 1
        blocks >>= length
        at += first
        yield at * BLOCK, (at + length) * BLOCK
        at += length


def _in_part(text: str, pattern: re.Pattern[str], part: Span) -> Iterator[Span]:
    """The matches that begin in the part, without overlaps."""
    done = part[0]
    last = min(part[1], len(text))
    for first in range(part[0], last, STEP):
        step_end = min(first + STEP, last)
        until = step_end + REACH + BEYOND
        while (match := pattern.search(text, max(first, done), until)) and match.start() < step_end:
            start, done = match.span()
            yield start, done


def lower(text: str) -> str:
    """The text in lower case, with the same length."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)


def merged(spans: Iterable[Span]) -> Iterator[Span]:
    """The spans in order, with those that overlap or touch as one."""
    last: Span | None = None
    for start, end in sorted(spans):
        if last is not None and start <= last[1]:
            last = (last[0], max(last[1], end))
            continue
        if last is not None:
            yield last
        last = (start, end)
    if last is not None:
        yield last
