"""Splits texts into parts of a number of UTF-16 units, at the best boundaries: Telegram counts in these."""

from __future__ import annotations

import re
from collections.abc import Iterator

BOUNDARIES = tuple(
    re.compile(seam)
    for seam in (r"\n[ \t]*\n\s*", r"\n\s*", r"(?<=[.!?…])\s+|(?<=[。！？])", r"\s+|(?<=[，、；：])")
)
"""Boundaries: between paragraphs, lines, sentences, words; the largest first."""

MIN_FILL = 0.5
"""A boundary is skipped for a smaller one where the part before it would fill less than this share."""


def split_message(text: str, limit: int) -> list[str]:
    """The text in parts of at most `limit` UTF-16 units (at least 2), in order; none for a blank text.

    Joined they are the text, except for white space at the boundaries and around the text.
    """
    return [text[begin:end] for begin, end in spans(text, limit)]


def spans(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Where the parts that `split_message` returns begin and end in the text, in characters."""
    begin, end = len(text) - len(text.lstrip()), len(text.rstrip())
    while begin < end:
        size = _fitting(text[begin:end], limit)
        if begin + size == end:
            yield begin, end
            return
        cut, rest = _cut(text[begin:end], size)
        yield begin, begin + len(text[begin : begin + cut].rstrip())
        begin += rest
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())


def units(text: str) -> int:
    """The text's length in UTF-16 units, as some platforms count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _fitting(text: str, limit: int) -> int:
    """The number of the text's first characters that fit; characters beyond the first plane count twice."""
    head = text[:limit]
    if units(head) <= limit:
        return len(head)
    used = 0
    for index, character in enumerate(head):
        used += 2 if ord(character) > 0xFFFF else 1
        if used > limit:
            return index
    return len(head)


def _cut(text: str, size: int) -> tuple[int, int]:
    """The end of the first part, and the start of the rest."""
    window = text[: size + 1]  # a boundary right after the last character counts too
    for minimum in (int(size * MIN_FILL), 0):
        for seam in BOUNDARIES:
            matches = [match for match in seam.finditer(window) if minimum < match.start() <= size]
            if matches:
                return matches[-1].start(), matches[-1].end()
    return size, size
