"""One thing that a query asks for, and the pieces of a text that can be searched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from hermes_jobs.text.search.folding import IGNORED, PICTOGRAPHS, UNSPACED, WORD_CHARACTER, pattern

PieceKind = Literal["signed", "word", "letters", "pictographs"]

SIGNED_NAME = rf"(?<!{WORD_CHARACTER})[a-z][a-z0-9]{{0,11}}(?:\+\+|\#)(?![a-z])"
"""A name that signs belong to, such as c++ or c#, as a regular expression."""

_WORD = rf"{WORD_CHARACTER}(?:{WORD_CHARACTER}|{IGNORED})*"
_LETTERS = rf"[{UNSPACED}][{UNSPACED}{IGNORED}]*"
_PICTOGRAPHS = rf"[{PICTOGRAPHS}][{PICTOGRAPHS}{IGNORED}]*"
_PIECE = (
    rf"(?P<signed>{SIGNED_NAME})|(?P<word>{_WORD})|(?P<letters>{_LETTERS})|(?P<pictographs>{_PICTOGRAPHS})"
)


class Piece(NamedTuple):
    """A part of a folded text.

    `signed`: a name that signs belong to (c++, c#); `word`: one of a script with spaces; `letters`: a run of
    a script without; `pictographs`: a run of emoji.
    """

    kind: PieceKind
    text: str
    start: int
    end: int


class Term(msgspec.Struct, frozen=True):
    """A word or a phrase. `text` is folded, with at least one piece; `prefix`: its last word is a prefix."""

    text: str
    prefix: bool = False


def pieces(folded: str) -> Iterator[Piece]:
    """What of a folded text can be searched, in order."""
    for match in pattern(_PIECE).finditer(folded):
        kind: PieceKind = match.lastgroup  # type: ignore[assignment]  # one of the pattern's groups
        yield Piece(kind, match[0].replace(IGNORED, ""), match.start(), match.end())


def is_searchable(folded: str) -> bool:
    """Whether there is anything in it to search for."""
    return pattern(_PIECE).search(folded) is not None
