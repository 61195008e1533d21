"""Splits a long text into messages, at the largest boundaries that fit."""

from __future__ import annotations

import re
from collections.abc import Iterator

SEAMS = tuple(
    re.compile(seam)
    for seam in (r"\n[ \t]*\n\s*", r"\n\s*", r"(?<=[.!?…])\s+|(?<=[。！？])", r"\s+|(?<=[，、；：])")
)
"""Boundaries: between paragraphs, lines, sentences, words; the largest first."""

FULL_ENOUGH = 0.5
"""A boundary is skipped for a smaller one where the part before it would fill less than this share."""


def split_message(text: str, limit: int) -> list[str]:
    """The text in parts of at most `limit` UTF-16 units (at least 2), in order; none for a blank text.

    Joined they are the text, except for white space at the boundaries and around the text.
    """
    return list(_parts(text.strip(), limit))


def units(text: str) -> int:
    """The text's length in UTF-16 units, as some platforms count."""
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
    """The number of the text's first characters that fit; characters beyond the first plane count twice."""
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
    """The end of the first part, and the start of the rest."""
    window = text[: room + 1]  # a boundary right after the last character counts too
    for least in (int(room * FULL_ENOUGH), 0):
        for seam in SEAMS:
            found = [match for match in seam.finditer(window) if least < match.start() <= room]
            if found:
                return found[-1].start(), found[-1].end()
    return room, room
