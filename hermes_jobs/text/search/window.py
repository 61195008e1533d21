"""The part of a long text that holds the most of what was searched for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from hermes_jobs.text.search.folding import normal
from hermes_jobs.text.search.matching import Matcher, Span

BEFORE = 0.25  # the share of a window before the match that it is laid around
NEAR = 200  # characters within which words belong together


def best_window(text: str, matcher: Matcher, size: int) -> tuple[int, int]:
    """Start and end, within `normal(text)`, of at most `size` characters with the most places that count.

    What counts: the query as one phrase; else all of its words within `NEAR` characters of each other; else
    any of its words.
    """
    length = len(normal(text))
    if length <= size:
        return 0, length
    places = _places(text, matcher)
    before = int(size * BEFORE)
    starts = [min(max(0, place - before), length - size) for place in places] or [0]
    counts = [bisect_right(places, start + size) - bisect_left(places, start) for start in starts]
    best = starts[counts.index(max(counts))]
    return best, best + size


def _places(text: str, matcher: Matcher) -> list[int]:
    whole = matcher.whole(text)
    if whole:
        return whole
    spans = matcher.spans(text)
    return _together(spans, len(matcher.terms)) or [span.start for span in spans]


def _together(spans: Sequence[Span], terms: int) -> list[int]:
    """The places from which on all terms stand within `NEAR` characters."""
    if terms < 2:
        return []
    places: list[int] = []
    last: dict[int, int] = {}
    for span in reversed(spans):
        last[span.term] = span.start
        if len(last) == terms and max(last.values()) - span.start <= NEAR:
            places.append(span.start)
    return places[::-1]
