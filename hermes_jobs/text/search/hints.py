"""What to say where nothing was found: what was searched for, and how to find more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from hermes_jobs.text.clip import one_line
from hermes_jobs.text.search.query import (
    MAX_CHARS,
    All,
    AnyOf,
    Expression,
    Without,
    is_cut,
    parse,
    positive_terms,
)
from hermes_jobs.text.search.terms import Term

NAMED = 4  # words beyond which those of relaxed hits are not listed


def no_results_hint(query: str, messages: int, limits: Sequence[str], wider: Sequence[str]) -> str:
    """A few sentences about a query that found nothing in so many messages.

    `limits` say what the search was limited to ("role: user"), `wider` how to lift that ("leave out role").
    """
    expression = parse(query)
    if expression is None:
        return f"There is nothing to search for in {_shown(query)}: give it a word, a number or an emoji."
    where = f" ({'; '.join(limits)})" if limits else ""
    cut = f" Only the query's first {MAX_CHARS:,} characters were read." if is_cut(query) else ""
    ways = list(wider)
    if isinstance(expression, Without):
        ways = ["the query without what stands behind NOT", *ways]
    elif len(positive_terms(expression)) > 1 and not isinstance(expression, AnyOf):
        ways = ["fewer words", "OR between them", *ways]
    ways.append("the beginning of a word with a star (deploy*)")
    nothing = f"{_lacking('No message', expression)}: {messages:,} searched{where}.{cut}"
    return f"{nothing} To widen it: {', or '.join(ways)}."


def relaxed_hint(query: str, exact: int) -> str:
    """What to say of hits that do not all hold what the query named; so many of them do.

    Of other messages it says nothing: one that holds all may stand behind them, such as a search of the past.
    """
    expression = parse(query)
    assert expression is not None, "what found something can be searched for"
    if exact:
        hold = "holds" if exact == 1 else "hold"
        return f"{exact} of these {hold} all of the words; the others some of them, perhaps in other forms."
    is_question = isinstance(expression, All) and len(expression.parts) > NAMED
    lacking = "None of these holds all of the words" if is_question else _lacking("None of these", expression)
    return f"{lacking}. They hold some of that, perhaps in other forms; rare words count most."


def _lacking(none: str, expression: Expression) -> str:
    """That no message, or none of these, is what the expression asks for, and no more than that."""
    match expression:
        case All(parts) | AnyOf(parts) if all(isinstance(part, Term) for part in parts):
            much = "any" if isinstance(expression, AnyOf) else "all"
            return f"{none} holds {much} of {', '.join(map(_named, parts))}"
        case _:
            return f"{none} holds {_named(expression)}"


def _named(expression: Expression) -> str:
    match expression:
        case Term(text, prefix):
            return f"“{text}{'*' * prefix}”"
        case All(parts):
            return " and ".join(map(_in_brackets, parts))
        case AnyOf(parts):
            return " or ".join(map(_in_brackets, parts))
        case Without(included, excluded):
            return f"{_in_brackets(included)} without {' or '.join(map(_in_brackets, excluded))}"
        case _:
            assert_never(expression)


def _in_brackets(expression: Expression) -> str:
    return _named(expression) if isinstance(expression, Term) else f"({_named(expression)})"


def _shown(query: str) -> str:
    return f"“{one_line(query, 60)}”"
