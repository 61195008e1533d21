"""The part of a long text that holds the most of what was searched for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hermes_jobs.text.search.folding import normal
from hermes_jobs.text.search.matching import Matcher, Span

BEFORE = 0.25  # the share of a window before the match that it is laid around
NEAR = 200  # characters within which words belong together


def best_window(text: str, matcher: Matcher, size: int) -> tuple[int, int]:
    """Start and end, within `normal(text)`, of at most `size` characters with the most places that count.

    What counts: the query as one phrase; else all of its words within `NEAR` characters of each other; else
    first how many of its words there are, then at how many places.
    """
    length = len(normal(text))
    if length <= size:
        return 0, length
    spans = matcher.spans(text)
    complete = matcher.complete_spans(text) or _together(spans, len(matcher.terms))
    best = _fullest([Span(place, place, 0) for place in complete] or spans, length, size)
    return best, best + size


def _fullest(places: Sequence[Span], length: int, size: int) -> int:
    """The start of the window around a place that holds the most terms, then the most places."""
    best, most = 0, (0, 0)
    first = last = 0
    counts: Counter[int] = Counter()
    for place in places:
        start = min(max(0, place.start - int(size * BEFORE)), length - size)
        while last < len(places) and places[last].start < start + size:
            counts[places[last].term] += 1
            last += 1
        while places[first].start < start:
            counts[places[first].term] -= 1
            first += 1
        count = (sum(1 for times in counts.values() if times), last - first)
        if count > most:
            best, most = start, count
    return best


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
