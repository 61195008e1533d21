"""What to say where nothing was found: what was searched for, and how to find more."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_jobs.domain.search.query import MAX_CHARS, AnyOf, is_cut, parse, positive_terms


def advice(query: str, messages: int, limits: Sequence[str], wider: Sequence[str]) -> str:
    """A few sentences about a query that found nothing in so many messages.

    `limits` say what the search was limited to («role: user»), `wider` how to lift that («leave out role»).
    """
    expression = parse(query)
    if expression is None:
        return f"There is nothing to search for in {_shown(query)}: give it a word, a number or an emoji."
    terms = [f"«{term.text}{'*' * term.prefix}»" for term in positive_terms(expression)]
    either = isinstance(expression, AnyOf)
    what = terms[0] if len(terms) == 1 else f"{'any' if either else 'all'} of {', '.join(terms)}"
    where = f" ({'; '.join(limits)})" if limits else ""
    cut = f" Only the query's first {MAX_CHARS:,} characters were read." if is_cut(query) else ""
    ways = list(wider)
    if len(terms) > 1 and not either:
        ways = ["fewer words", "OR between them", *ways]
    ways.append("the beginning of a word with a star (deploy*)")
    return f"No message holds {what}: {messages:,} searched{where}.{cut} To widen it: {', or '.join(ways)}."


def _shown(query: str) -> str:
    line = " ".join(query.split())
    return f"«{line if len(line) <= 60 else line[:59] + '…'}»"
