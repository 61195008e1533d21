"""Searching a text for the matches of many rules at once, in time that grows with the text and no faster.

A rule's pattern is tried only near one of its words, and in steps: between two steps other threads run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from hermes_jobs.text.scan.rules import Rule, RuleSet, compiled

Span = tuple[int, int]

REACH = 1_000  # characters around a rule's word: more than any pattern spans
STEP = 8_192  # characters that one call of a pattern may go through
BEFORE = 80  # characters before a match among which an excuse is looked for
BEYOND = 200  # characters after the part in question, for what a pattern looks ahead to


class Match(NamedTuple):
    """A match that counts: `text[start:end]`."""

    rule: Rule
    start: int
    end: int


def find_matches(
    text: str,
    rules: RuleSet,
    *,
    within: Sequence[Span] | None = None,
    only: Callable[[Rule], bool] | None = None,
) -> Iterator[Match]:
    """Every match of these rules that counts.

    `within`: parts of the text, in order and apart from each other, outside of which nothing is looked for.
    `only` selects among the rules.
    """
    low = _lower(text)
    everywhere = ((0, len(text)),)

    @cache
    def around(word: str) -> tuple[Span, ...]:
        return tuple(_around(low, word))

    present = {word for word in rules.words if word in low}
    for rule in rules.rules:
        words = [word for word in rule.near if word in present]
        if (rule.near and not words) or (only is not None and not only(rule)):
            continue
        parts = merged(part for word in words for part in around(word)) if words else everywhere
        for part in parts if within is None else common(parts, within):
            yield from _in_part(text, rule, part)


def _in_part(text: str, rule: Rule, part: Span) -> Iterator[Match]:
    """The matches that begin in the part, none of which overlap."""
    pattern, done = compiled(rule.pattern), 0
    last = min(part[1], len(text))
    for first in range(part[0], last, STEP):
        step_end = min(first + STEP, last)
        for found in pattern.finditer(text, max(first, done), step_end + REACH + BEYOND):
            start, done = found.span()
            if start >= step_end:
                break
            if not rule.is_excused(found[0], text[max(start - BEFORE, 0) : start]):
                yield Match(rule, start, done)


def _lower(text: str) -> str:
    """The text in lower case, with the same length."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(small if len(small := each.lower()) == 1 else each for each in text)


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


def common(some: Iterable[Span], others: Sequence[Span]) -> Iterator[Span]:
    """What lies in spans of both; each are in order and apart from each other."""
    following = iter(others)
    other = next(following, None)
    for first, last in some:
        while other is not None and other[1] <= first:
            other = next(following, None)
        while other is not None and other[0] < last:
            yield max(first, other[0]), min(last, other[1])
            if other[1] >= last:
                break
            other = next(following, None)
