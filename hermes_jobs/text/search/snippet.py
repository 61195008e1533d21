"""A few words around the best place of a text, the matches marked: `the >>>match<<< in its place …`."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_jobs.text.search.folding import PICTOGRAPHS, UNSPACED, WORD_CHARACTERS, normal, pattern
from hermes_jobs.text.search.matching import Matcher, Span

OPEN, CLOSE = ">>>", "<<<"
CUT = "…"
TOKENS = 40
BEFORE = 12  # tokens before the best match
NEAR = 200  # characters within which matches count as one place
READ = 1_000_000  # characters of a text that are looked through
COMPARED = 2_000  # places that are compared
WIDEST = 400  # characters on either side of the match, whatever is called a token there

_TOKEN = rf"{WORD_CHARACTERS}|[{UNSPACED}{PICTOGRAPHS}]"


def snippet(text: str, matcher: Matcher) -> str:
    """About `TOKENS` words on one line; the text's beginning where nothing of it matches."""
    read = normal(text[:READ])
    spans = matcher.spans(read)
    best = _best(spans)
    start, end = _around(read, best)
    marked = _marked(read, start, end, spans)
    line = " ".join(marked.split())
    more = read[end:].strip() or len(text) > READ
    return f"{CUT if read[:start].strip() else ''}{line}{CUT if more else ''}"


def _best(spans: Sequence[Span]) -> int:
    """Where the most terms stand near each other, else where most matches do; the first such place."""
    best, most = 0, (0, 0)
    for at, span in enumerate(spans[:COMPARED]):
        near: list[int] = []
        for other in spans[at:]:
            if other.start > span.start + NEAR:
                break
            near.append(other.term)
        if (len(set(near)), len(near)) > most:
            best, most = span.start, (len(set(near)), len(near))
    return best


def _around(text: str, place: int) -> tuple[int, int]:
    """The part of the text that is shown for a place in it."""
    low, high = max(0, place - WIDEST), min(len(text), place + WIDEST)
    tokens = [match.span() for match in pattern(_TOKEN).finditer(text, low, high)]
    at = next((number for number, (_, end) in enumerate(tokens) if end > place), len(tokens))
    first = max(0, min(at - BEFORE, len(tokens) - TOKENS))
    last = min(first + TOKENS, len(tokens))
    from_the_start = not tokens or (low == 0 and first == 0)
    to_the_end = not tokens or (high == len(text) and last == len(tokens))
    return low if from_the_start else tokens[first][0], high if to_the_end else tokens[last - 1][1]


def _marked(text: str, start: int, end: int, spans: Sequence[Span]) -> str:
    parts: list[str] = []
    at = start
    for span in spans:
        begin, stop = max(span.start, at), min(span.end, end)
        if begin < stop and span.start >= at:
            parts += [text[at:begin], OPEN, text[begin:stop], CLOSE]
            at = stop
    return "".join([*parts, text[at:end]])
