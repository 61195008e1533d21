"""Searching a text for the matches of many rules at once, in time that grows with the text and no faster.

A rule's pattern is tried only near one of its words, and in steps: between two steps other threads run.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from functools import cache
from typing import NamedTuple

from hermes_jobs.text.scan import kept
from hermes_jobs.text.scan.rules import ScanRule, ScanRules

Span = tuple[int, int]

REACH = 600  # characters around a rule's word: more than any pattern spans
STEP = 4_096  # characters that one call of a pattern may go through
BEFORE = 80  # characters before a match among which an excuse is looked for
MOST_WORDS = 8_000  # words of one rule in a text that is searched to its end: one in 130 characters of 1 MiB
BEYOND = 200  # characters after the part in question, for what a pattern looks ahead to


class Match(NamedTuple):
    """A match that counts: `text[start:end]`."""

    rule: ScanRule
    start: int
    end: int


class Search(NamedTuple):
    """Every match that counts in the first `end` characters of a text."""

    matches: tuple[Match, ...]
    end: int


def search(
    text: str,
    rules: ScanRules,
    *,
    only: Callable[[ScanRule], bool] | None = None,
    most_words: int | None = MOST_WORDS,
) -> Search:
    """Search for the rules that `only` selects.

    It ends where a rule's words have occurred `most_words` times (None: at the text's end). What lies beyond
    is not worth its cost: only a text that is made for it is so full of one rule's words.
    """
    low = lower(text)
    present = rules.present_in(low)
    applicable = [rule for rule in rules.rules if _may_match(rule, present) and (only is None or only(rule))]
    end = len(text)
    if most_words is not None:
        end = _end_of_budget(low, [present.intersection(rule.near) for rule in applicable], most_words)
    return Search(tuple(_matches(text[:end], low[:end], applicable, present)), end)


def _may_match(rule: ScanRule, present: Set[str]) -> bool:
    return all(not words or not present.isdisjoint(words) for words in (rule.near, rule.also))


def _end_of_budget(low: str, groups: Iterable[Collection[str]], most: int) -> int:
    """Where a group of words has occurred so often, or the text's length."""
    counted = cache(low.count)
    end = len(low)
    for words in groups:
        if sum(map(counted, words)) > most:
            end = bisect_right(
                range(end), most, key=lambda length: sum(low.count(word, 0, length) for word in words)
            )
    return end


def _matches(text: str, low: str, applicable: Iterable[ScanRule], present: Set[str]) -> Iterator[Match]:
    around = cache(lambda word: tuple(_around(low, word)))

    @cache
    def near(words: tuple[str, ...]) -> tuple[Span, ...]:
        return tuple(merged(part for word in words for part in around(word))) if words else ((0, len(text)),)

    for rule in applicable:
        searched = low if rule.in_lower_case else text
        patterns = [
            kept.compiled(branch.pattern, rule.flags)
            for branch in rule.branches
            if all(not present.isdisjoint(group) for group in branch.needs)
        ]
        for part in _common(near(rule.near), near(rule.also)) if patterns else ():
            for start, end in _in_part(searched, patterns, part):
                if not rule.is_excused(text[start:end], text[max(start - BEFORE, 0) : start]):
                    yield Match(rule, start, end)


def _in_part(text: str, patterns: Sequence[re.Pattern[str]], part: Span) -> Iterator[Span]:
    """The matches that begin in the part, without overlaps; at one beginning the first pattern's."""
    done = part[0]
    last = min(part[1], len(text))
    for first in range(part[0], last, STEP):
        step_end = min(first + STEP, last)
        until = step_end + REACH + BEYOND
        ahead = [(pattern, pattern.search(text, max(first, done), until)) for pattern in patterns]
        while ahead := [(each, match) for each, match in ahead if match and match.start() < step_end]:
            match = min((match for _, match in ahead if match), key=lambda match: match.start())
            start, done = match.span()
            yield start, done
            ahead = [
                (each, other if other and other.start() >= done else each.search(text, done, until))
                for each, other in ahead
            ]


def lower(text: str) -> str:
    """The text in lower case, with the same length."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)


def _around(low: str, word: str) -> Iterator[Span]:
    """The parts of a text within reach of the word, in order and apart from each other."""
    at = low.find(word)
    while at >= 0:
        first, last = at, at
        while (further := low.rfind(word, last + 1, last + 2 * REACH)) >= 0:
            last = further
        yield max(first - REACH, 0), last + REACH
        at = low.find(word, last + 1)


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


def _common(some: Iterable[Span], others: Sequence[Span]) -> Iterator[Span]:
    """What lies in spans of both; each are in order and apart from each other."""
    at = 0
    for first, last in some:
        while at < len(others) and others[at][1] <= first:
            at += 1
        end = bisect_left(others, (last,), lo=at)
        yield from ((max(first, other[0]), min(last, other[1])) for other in others[at:end])
