"""What the index answers of a query, and what is found by reading the texts."""

from __future__ import annotations

from typing import NamedTuple

from hermes_jobs.features.search.tables.index_tokens import is_exact
from hermes_jobs.text.search import All, Term, Without
from hermes_jobs.text.search.query import Expression, every
from hermes_jobs.text.search.terms import is_searchable, pieces


class SearchPlan(NamedTuple):
    """The index yields matches of `indexed` (None: all) and not of `refused`; then each text is read.
    `required` are the terms that it must contain, `excluded` those that it must not.
    """

    indexed: Expression | None
    refused: tuple[Expression, ...]
    required: tuple[Term, ...]
    excluded: tuple[Term, ...]

    @staticmethod
    def of(expression: Expression | None) -> SearchPlan:
        """The plan for what the index alone answers."""
        return SearchPlan(expression, (), (), ())


def plan_of(way: Expression, *, reading: bool) -> SearchPlan:
    """The plan for an alternative. With `reading`, prefixes are searched in the texts, not in the index."""
    included, rejected = parts_of(way)
    indexed: list[Expression] = []
    required: list[Term] = []
    for part in included:
        searched: Expression | None = part
        if isinstance(part, Term):
            begins = reading and _is_beginning(part)
            searched = _head(part) if begins else part
            required += [part] if begins or not is_exact(part) else []
        indexed += [searched] if searched is not None else []
    excluded = tuple(
        part
        for part in rejected
        if isinstance(part, Term) and (not is_exact(part) or (reading and _is_beginning(part)))
    )
    remaining = tuple(part for part in rejected if part not in excluded)
    return SearchPlan(every(indexed), remaining, tuple(required), excluded)


def parts_of(way: Expression) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    """The required terms and the excluded ones."""
    inner, refused = (way.included, way.excluded) if isinstance(way, Without) else (way, ())
    return (inner.parts if isinstance(inner, All) else (inner,)), refused


def has_beginning(way: Expression) -> bool:
    """Whether a term of it is the beginning of a word."""
    included, refused = parts_of(way)
    return any(_is_beginning(part) for part in (*included, *refused) if isinstance(part, Term))


def _is_beginning(term: Term) -> bool:
    return term.prefix and list(pieces(term.text))[-1].kind == "word"


def _head(term: Term) -> Term | None:
    """The words of a phrase before its last."""
    head = term.text[: list(pieces(term.text))[-1].start]
    return Term(head) if is_searchable(head) else None
