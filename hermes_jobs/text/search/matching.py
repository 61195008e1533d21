"""Where a query's terms stand in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from hermes_jobs.text.search.folding import (
    IGNORED,
    PICTOGRAPHS,
    SIGNED_LETTERS,
    WORD_CHARACTER,
    fold,
    pattern,
)
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
        spans = [
            Span(match.start(), match.end(), number)
            for number, finder in enumerate(patterns)
            for match in finder.places(folded)
        ]
        return sorted(spans)

    def complete_spans(self, text: str) -> list[int]:
        """Where all terms stand as one phrase; nowhere where there is but one term."""
        if len(self.terms) < 2:
            return []
        return [match.start() for match in self._whole.places(fold(text))]

    def holds(self, term: int, folded: str) -> bool:
        """Whether that term stands in a folded text."""
        return next(self._patterns[term].places(folded.replace(IGNORED, "")), None) is not None

    @cached_property
    def _patterns(self) -> list[_TermPattern]:
        return [_pattern_of(term) for term in self.terms]

    @cached_property
    def _loose_patterns(self) -> list[_TermPattern]:
        return [_pattern_of(term, loose=True) for term in self.terms]

    @cached_property
    def _whole(self) -> _TermPattern:
        return _pattern_of(Term(" ".join(term.text for term in self.terms), self.terms[-1].prefix))


class _TermPattern(NamedTuple):
    """Matches a term. `is_word`: only where no part of a word stands beside the match.

    That is not in the expression of a word: compiling `WORD_CHARACTER` takes milliseconds, and a question
    has dozens of words.
    """

    expression: re.Pattern[str]
    is_word: bool

    def places(self, folded: str) -> Iterator[re.Match[str]]:
        """Every place of the term in the text."""
        if not self.is_word:
            yield from self.expression.finditer(folded)
            return
        is_in_word, start = pattern(WORD_CHARACTER).match, 0
        while match := self.expression.search(folded, start):
            before, end = match.start() - 1, match.end()
            is_match = not (is_in_word(folded, end) or (before >= 0 and is_in_word(folded, before)))
            start = end if is_match else before + 2
            if is_match:
                yield match


@lru_cache(maxsize=1_000)
def _pattern_of(term: Term, *, loose: bool = False) -> _TermPattern:
    """What matches the term in folded texts; `loose` also in those with `IGNORED` inside."""
    term_pieces = list(pieces(term.text))
    if len(term_pieces) == 1 and term_pieces[0].kind == "word" and not term.prefix:
        return _TermPattern(re.compile(_piece(term_pieces[0], loose=loose)), is_word=True)
    return _TermPattern(re.compile("".join(_parts(term_pieces, term, loose=loose))), is_word=False)


def _parts(term_pieces: Sequence[Piece], term: Term, *, loose: bool) -> Iterator[str]:
    first, last = term_pieces[0], term_pieces[-1]
    begins = first.kind in {"word", "signed"}
    if begins and loose:
        yield f"(?={re.escape(first.text[0])})(?<!{WORD_CHARACTER})"
    yield _piece(first, loose=loose)
    if begins and not loose:  # behind the piece: a pattern that begins with plain text is found much faster
        yield f"(?<!{WORD_CHARACTER}{re.escape(first.text)})"
    for before, piece in pairwise(term_pieces):
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
