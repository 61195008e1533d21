"""How well texts fit a query, compared with each other: BM25 over the candidates alone.

Counting over the whole index would cost a common word a walk through a million entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from hermes_jobs.domain.search.matching import Matcher
from hermes_jobs.domain.search.terms import Term

READ = 20_000  # characters of a text that are counted in
SATURATION = 1.2
BY_LENGTH = 0.5
SPELLED_OTHERWISE = 0.5  # of one place, where the parts of a phrase stand with other signs between them


def scores(folded: Sequence[str], terms: Sequence[Term]) -> list[float]:
    """A score for each folded text, higher for a better fit."""
    folded = [text[:READ] for text in folded]
    usual = sum(map(len, folded)) / max(len(folded), 1) or 1.0
    weights = [SATURATION * (1 - BY_LENGTH + BY_LENGTH * len(text) / usual) for text in folded]
    matcher = Matcher(terms)
    totals = [0.0] * len(folded)
    for number, term in enumerate(terms):
        counts = [text.count(term.text) or _otherwise(matcher, number, text) for text in folded]
        rarity = _rarity(sum(count > 0 for count in counts), len(counts))
        for at, count in enumerate(counts):
            totals[at] += rarity * count * (SATURATION + 1) / (count + weights[at])
    return totals


def _otherwise(matcher: Matcher, term: int, folded: str) -> float:
    words = matcher.terms[term].text
    return SPELLED_OTHERWISE if not words.isalnum() and matcher.holds(term, folded) else 0.0


def _rarity(holding: int, of: int) -> float:
    return log(1 + (of - holding + 0.5) / (holding + 0.5))
