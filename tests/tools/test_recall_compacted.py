"""`recall_compacted`: which words of a question tell where to look."""

from __future__ import annotations

from hermes_jobs.features.compression.tools import COMMON, distinctive_terms
from hermes_jobs.text.search import parse, positive_terms
from hermes_jobs.text.search.folding import normal


def telling_of(question: str, said: str) -> list[str]:
    expression = parse(question)
    assert expression is not None
    return [term.text for term in distinctive_terms(positive_terms(expression), normal(said))]


def test_of_a_whole_question_the_common_words_are_left_out() -> None:
    said = "Bronze screws come from Anglia. " + "We do what we do. " * COMMON
    assert telling_of("where do we buy bronze screws", said) == ["bronze", "screws"]


def test_where_all_words_are_as_common_all_of_them_count() -> None:
    assert telling_of("we do", "We do. " * 20) == ["we", "do"]


def test_where_no_word_occurs_none_is_left() -> None:
    assert telling_of("where do we buy bronze", "Nothing of it.") == []
