"""How well texts fit what is looked for: BM25 (Robertson and Zaragoza, "The Probabilistic Relevance
Framework", 2009).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import nlargest
from math import log

from hermes_jobs.text.search.folding import IGNORED, WORD_CHARACTERS, pattern
from hermes_jobs.text.search.matching import Matcher
from hermes_jobs.text.search.question import QuestionWord, is_unspaced
from hermes_jobs.text.search.stems import stem
from hermes_jobs.text.search.terms import Term

READ = 20_000  # characters of a text that are counted in
SATURATION = 1.2
BY_LENGTH = 0.75
A_FEW = 100  # characters that every text is taken to be longer: "What?" is no better for being short
OTHER_FORM = 0.8  # of one place, where a word stands in another form
SPELLED_OTHERWISE = 0.5  # of one place, where the parts of a phrase stand with other signs between them
MAX_TOPICS = 8  # things that a long text is about

Count = Callable[[str], Sequence[float]]
"""Gives how often each thing that is looked for stands in a folded text."""


def rarity(holding: float, of: float) -> float:
    """The weight of what that many of so many texts hold."""
    return log(1 + (of - holding + 0.5) / (holding + 0.5)) if holding <= of else log(1 + 0.5 / (of + 0.5))


def saturated(count: float, weight: float) -> float:
    """What so many places count together in a text whose length has that weight."""
    return count * (SATURATION + 1) / (count + SATURATION * weight)


def by_length(lengths: Sequence[float], more: float = A_FEW) -> list[float]:
    """The weight of each length, compared with each other."""
    usual = sum(lengths) / max(len(lengths), 1) + more
    return [1 - BY_LENGTH + BY_LENGTH * (length + more) / max(usual, 1.0) for length in lengths]


def scores(folded: Sequence[str], terms: Sequence[Term]) -> list[float]:
    """A score for each folded text, higher for a better fit; rarity counts among these texts alone."""
    count = counter(terms)
    counts = [count(text[:READ]) for text in folded]
    holding = [sum(row[number] > 0 for row in counts) for number in range(len(terms))]
    return fits(folded, counts, [rarity(num_texts, len(folded)) for num_texts in holding])


def fits(folded: Sequence[str], counts: Sequence[Sequence[float]], rarities: Sequence[float]) -> list[float]:
    """BM25 of each text, from how often it holds what is looked for, and how rare each of that is."""
    lengths = by_length([min(len(text), READ) for text in folded])
    return [
        sum(rare * saturated(count, weight) for rare, count in zip(rarities, row, strict=True) if count)
        for row, weight in zip(counts, lengths, strict=True)
    ]


def coverages(counts: Sequence[Sequence[float]], rarities: Sequence[float]) -> list[float]:
    """The share that each text holds of what is looked for, each thing by how rare it is.

    Of many things those that are as rare as the rarest `MAX_TOPICS` together make up the total.
    """
    total = sum(nlargest(MAX_TOPICS, rarities)) or 1.0
    return [
        min(1.0, sum(rare for count, rare in zip(row, rarities, strict=True) if count) / total)
        for row in counts
    ]


def counter(terms: Sequence[Term]) -> Count:
    """Counts terms as they are written."""
    matcher = Matcher(terms)

    def count(text: str) -> list[float]:
        return [
            text.count(term.text) or _otherwise(matcher, number, text) for number, term in enumerate(terms)
        ]

    return count


def counts_of_forms(folded: Sequence[str], question_words: Sequence[QuestionWord]) -> list[list[float]]:
    """The occurrences of a question's words in each text; another form of a word counts a little less."""
    rooted = {word.root: number for number, word in enumerate(question_words) if word.root is not None}
    others = [number for number, word in enumerate(question_words) if word.root is None]
    as_written = counter([question_words[number].terms[0] for number in others])
    unspaced = [number for root, number in rooted.items() if is_unspaced(root)]
    words = list(map(_words, folded))
    written = _forms_of(rooted, frozenset[str]().union(*words))
    roots_of = {word: rooted[root] for word, root in written.items()}

    def count(text: str, frequencies: Mapping[str, int]) -> list[float]:
        counts = [0.0] * len(question_words)
        for word in roots_of.keys() & frequencies.keys():
            number = roots_of[word]
            counts[number] += frequencies[word] * (
                1.0 if word == question_words[number].terms[0].text else OTHER_FORM
            )
        for number in unspaced:
            counts[number] += text.count(question_words[number].terms[0].text)
        for number, places in zip(others, as_written(text), strict=True):
            counts[number] = places
        return counts

    return [count(text, frequencies) for text, frequencies in zip(folded, words, strict=True)]


def terms_in(folded: str, question_words: Sequence[QuestionWord]) -> tuple[Term, ...]:
    """The terms of what is wanted, in the forms in which they stand in the text."""
    written = _forms_of([word.root for word in question_words if word.root is not None], _words(folded))
    others = (term for word in question_words if len(word.terms) == 1 for term in word.terms)
    return tuple(dict.fromkeys((*map(Term, written), *others)))


def _forms_of(roots: Collection[str], words: Iterable[str]) -> dict[str, str]:
    """The words that are forms of a root, each with its root. A stem begins as its word does."""
    starts, all_roots = tuple({root[:2] for root in roots}), frozenset(roots)
    return {word: root for word in words if word.startswith(starts) and (root := stem(word)) in all_roots}


def _words(folded: str) -> Mapping[str, int]:
    if folded.isascii():
        return Counter(pattern("[a-z0-9]+").findall(folded))
    return Counter(pattern(WORD_CHARACTERS).findall(folded.replace(IGNORED, "")))


def _otherwise(matcher: Matcher, term: int, folded: str) -> float:
    words = matcher.terms[term].text
    return SPELLED_OTHERWISE if not words.isalnum() and matcher.holds(term, folded) else 0.0
