"""What a person's query means, and where it stands in a text. Which texts there are is for views to say."""

from __future__ import annotations

from hermes_jobs.text.search.folding import fold
from hermes_jobs.text.search.matching import Matcher
from hermes_jobs.text.search.query import MAX_CHARS, All, AnyOf, Without, is_cut, parse, positive_terms
from hermes_jobs.text.search.snippet import CLOSE, OPEN, snippet
from hermes_jobs.text.search.terms import Term
from hermes_jobs.text.search.window import best_window
