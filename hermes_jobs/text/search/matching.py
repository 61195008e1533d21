"""Where a query's terms stand in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from hermes_jobs.text.search.folding import IGNORED, PICTOGRAPHS, SIGNED_LETTERS, WORD_CHARACTER, fold
from hermes_jobs.text.search.terms import Piece, PieceKind, Term, pieces

BETWEEN_WORDS = rf"(?:[^\w{SIGNED_LETTERS}]|_)"
BESIDE_RUNS = rf"(?:[^\w{SIGNED_LETTERS}{PICTOGRAPHS}]|_)"  # where a pictograph is a run itself


class Span(NamedTuple):
    """A place in a text, as long as it is in its normal form. `term` counts the matcher's terms."""

    start: int
    end: int
    term: int


class Matcher:
    """Finds terms in texts as the index finds them. A text's spans are those of `normal(text)`."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = tuple(terms)

    def spans(self, text: str) -> list[Span]:
        """Every place of every term, in order; places may overlap."""
        folded = fold(text)
        patterns = self._loose_patterns if IGNORED in folded else self._patterns
        found = [
            Span(match.start(), match.end(), number)
            for number, pattern in enumerate(patterns)
            for match in pattern.finditer(folded)
        ]
        return sorted(found)

    def whole(self, text: str) -> list[int]:
        """Where all terms stand as one phrase; nowhere where there is but one term."""
        if len(self.terms) < 2:
            return []
        return [match.start() for match in self._whole.finditer(fold(text))]

    def holds(self, term: int, folded: str) -> bool:
        """Whether that term stands in a folded text."""
        return self._patterns[term].search(folded.replace(IGNORED, "")) is not None

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return [pattern_of(term) for term in self.terms]

    @cached_property
    def _loose_patterns(self) -> list[re.Pattern[str]]:
        return [pattern_of(term, loose=True) for term in self.terms]

    @cached_property
    def _whole(self) -> re.Pattern[str]:
        return pattern_of(Term(" ".join(term.text for term in self.terms), self.terms[-1].prefix))


@lru_cache(maxsize=1_000)
def pattern_of(term: Term, *, loose: bool = False) -> re.Pattern[str]:
    """What matches the term in folded texts; `loose` also in those with `IGNORED` inside."""
    return re.compile("".join(_parts(term, loose=loose)))


def _parts(term: Term, *, loose: bool) -> Iterator[str]:
    found = list(pieces(term.text))
    first, last = found[0], found[-1]
    begins = first.kind in {"word", "signed"}
    if begins and loose:
        yield f"(?={re.escape(first.text[0])})(?<!{WORD_CHARACTER})"
    yield _piece(first, loose=loose)
    if begins and not loose:  # behind the piece: a pattern that begins with plain text is found much faster
        yield f"(?<!{WORD_CHARACTER}{re.escape(first.text)})"
    for before, piece in pairwise(found):
        if before.kind == "signed":  # c++17 has one, c++alpha has none
            yield "(?![a-z])"
        yield _gap(before.kind, piece.kind)
        yield _piece(piece, loose=loose)
    if last.kind == "word":
        yield f"{WORD_CHARACTER}*" if term.prefix else f"(?!{WORD_CHARACTER})"
    elif last.kind == "signed":
        yield "(?![a-z])"


def _gap(before: PieceKind, after: PieceKind) -> str:
    """What may stand between two pieces of a phrase; nothing has to where their kinds keep them apart."""
    if {before, after} <= {"word", "signed"}:
        return f"{BETWEEN_WORDS}{'*' if before == 'signed' else '+'}"
    return f"{BESIDE_RUNS}{'+' if before == after else '*'}"


def _piece(piece: Piece, *, loose: bool) -> str:
    return (f"{IGNORED}*" if loose else "").join(map(re.escape, piece.text))
