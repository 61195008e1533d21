"""What a person's query means, and where it stands in a text. Which texts there are is for views to say."""

from __future__ import annotations

from hermes_jobs.domain.search.excerpt import CLOSE, OPEN, excerpt
from hermes_jobs.domain.search.folding import fold
from hermes_jobs.domain.search.matching import Matcher
from hermes_jobs.domain.search.query import MAX_CHARS, All, AnyOf, Without, is_cut, parse, positive_terms
from hermes_jobs.domain.search.terms import Term
from hermes_jobs.domain.search.window import window

__all__ = [
    "CLOSE",
    "MAX_CHARS",
    "OPEN",
    "All",
    "AnyOf",
    "Matcher",
    "Term",
    "Without",
    "excerpt",
    "fold",
    "is_cut",
    "parse",
    "positive_terms",
    "window",
]
