"""A few words around the best place of a text, the matches marked: `the >>>match<<< in its place …`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hermes_jobs.text.search.folding import PICTOGRAPHS, UNSPACED, WORD_CHARACTERS, normal, pattern
from hermes_jobs.text.search.matching import Matcher, Span

OPEN, CLOSE = ">>>", "<<<"
CUT = "…"
TOKENS = 40  # words; two characters of a script without spaces count as one
BEFORE = 12  # of them before the best match
NEAR = 160  # columns, as many as the words after the best match take, within which matches count as one place
COLUMNS = 3  # of a character of a script without spaces, beside one of a letter
READ = 1_000_000  # characters of a text that are looked through
COMPARED = 2_000  # places that are compared
WIDEST = 400  # characters on either side of the match, whatever is called a token there

_UNSPACED = f"[{UNSPACED}{PICTOGRAPHS}]"
_TOKEN = rf"{WORD_CHARACTERS}|{_UNSPACED}"
_ASCII_TOKEN = "[A-Za-z0-9]+"  # the same in a text of ASCII, found ten times as fast


def snippet(text: str, matcher: Matcher) -> str:
    """About `TOKENS` words on one line; the text's beginning where nothing of it matches."""
    read = normal(text[:READ])
    spans = matcher.spans(read)
    start, end = _around(read, _best(read, spans))
    marked = _marked(read, start, end, spans)
    line = " ".join(marked.split())
    more = read[end:].strip() or len(text) > READ
    return f"{CUT if read[:start].strip() else ''}{line}{CUT if more else ''}"


def _best(text: str, spans: Sequence[Span]) -> int:
    """Where the most terms stand near each other, else where most matches do; the first such place."""
    best, most = 0, (0, 0)
    compared = spans[:COMPARED]
    widths = [_width(text[one.start : other.start]) for one, other in pairwise(compared)]
    for at, span in enumerate(compared):
        near, far = [span.term], 0
        for other, width in zip(compared[at + 1 :], widths[at:], strict=False):
            far += width
            if far > NEAR:
                break
            near.append(other.term)
        if (len(set(near)), len(near)) > most:
            best, most = span.start, (len(set(near)), len(near))
    return best


def _width(text: str) -> int:
    if text.isascii() or len(text) > NEAR:
        return len(text)
    return len(text) + (COLUMNS - 1) * len(pattern(_UNSPACED).findall(text))


def _around(text: str, place: int) -> tuple[int, int]:
    """The part of the text that is shown for a place in it."""
    low, high = max(0, place - WIDEST), min(len(text), place + WIDEST)
    is_ascii = text.isascii()
    finder = pattern(_ASCII_TOKEN if is_ascii else _TOKEN)
    tokens = [match.span() for match in finder.finditer(text, low, high)]
    if not tokens:
        return low, high
    # In half words. A character of a script without spaces is one, as are few other words.
    sizes = [1 if not is_ascii and pattern(_UNSPACED).match(text, start) else 2 for start, _ in tokens]
    at = next((number for number, (_, end) in enumerate(tokens) if end > place), len(tokens))
    first = _back(sizes, at, 2 * BEFORE)
    last, available = first, 2 * TOKENS
    while last < len(tokens) and available > 0:
        available -= sizes[last]
        last += 1
    first = _back(sizes, first, available)
    from_the_start, to_the_end = low == 0 and first == 0, high == len(text) and last == len(tokens)
    return low if from_the_start else tokens[first][0], high if to_the_end else tokens[last - 1][1]


def _back(sizes: Sequence[int], at: int, available: int) -> int:
    """The token that is so far before another one."""
    while at > 0 and available >= sizes[at - 1]:
        at -= 1
        available -= sizes[at]
    return at


def _marked(text: str, start: int, end: int, spans: Sequence[Span]) -> str:
    parts: list[str] = []
    at = start
    for begin, stop in _joined(spans):
        begins, stops = max(begin, at), min(stop, end)
        if begins < stops:
            parts += [text[at:begins], OPEN, text[begins:stops], CLOSE]
            at = stops
    return "".join([*parts, text[at:end]])


def _joined(spans: Sequence[Span]) -> list[tuple[int, int]]:
    """The places of matches; those that overlap or touch are one."""
    places: list[tuple[int, int]] = []
    for span in spans:
        if places and span.start <= places[-1][1]:
            places[-1] = (places[-1][0], max(places[-1][1], span.end))
        else:
            places.append((span.start, span.end))
    return places
