"""Cutting a long text into messages, at the largest seams that fit."""

from __future__ import annotations

import re
from collections.abc import Iterator

SEAMS = tuple(
    re.compile(seam)
    for seam in (r"\n[ \t]*\n\s*", r"\n\s*", r"(?<=[.!?…])\s+|(?<=[。！？])", r"\s+|(?<=[，、；：])")
)
"""Between paragraphs, lines, sentences, words; the best first."""

FULL_ENOUGH = 0.5
"""A seam is passed over for a smaller one where the part before it would fill less than this."""


def split_message(text: str, limit: int) -> list[str]:
    """The text in parts of at most `limit` UTF-16 units (at least 2), in order; none for a blank text.

    Put together again they are the text, but for the white space at the seams and around it.
    """
    return list(_parts(text.strip(), limit))


def units(text: str) -> int:
    """The text's length as platforms that count in UTF-16 see it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _parts(rest: str, limit: int) -> Iterator[str]:
    while rest:
        room = _fitting(rest, limit)
        if room == len(rest):
            yield rest
            return
        end, begin = _cut(rest, room)
        yield rest[:end].rstrip()
        rest = rest[begin:].lstrip()


def _fitting(text: str, limit: int) -> int:
    """How many characters of the text's beginning fit; those beyond the first plane count twice."""
    head = text[:limit]
    if units(head) <= limit:
        return len(head)
    used = 0
    for at, character in enumerate(head):
        used += 2 if ord(character) > 0xFFFF else 1
        if used > limit:
            return at
    return len(head)


def _cut(text: str, room: int) -> tuple[int, int]:
    """Where the first part ends, and where the rest begins."""
    window = text[: room + 1]  # a seam that begins right behind the last character counts too
    for least in (int(room * FULL_ENOUGH), 0):
        for seam in SEAMS:
            found = [match for match in seam.finditer(window) if least < match.start() <= room]
            if found:
                return found[-1].start(), found[-1].end()
    return room, room
