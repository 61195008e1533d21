"""Stems: forms of a word have the same one, and a question asks the index for the forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.text.search.stems import forms, stem


@pytest.mark.parametrize(
    ("words", "root"),
    [
        (("connect", "connects", "connected", "connecting", "connection", "connections"), "connect"),
        (("hop", "hops", "hopping"), "hop"),
        (("use", "uses", "used", "using"), "use"),
        (("age", "ages", "aged", "aging"), "age"),
        (("tie", "ties", "tied"), "tie"),
        (("go", "going"), "go"),
        (("relate", "related", "relational"), "relat"),
        (("happy", "happiness"), "happi"),
        (("forbid", "forbidden", "forbids"), "forbid"),
        (("electrical", "electricity"), "electr"),
        (("tierheim", "tierheimen"), "tierheim"),
        (("lunette", "lunettes"), "lunett"),
        (("alquila", "alquilo"), "alquil"),
    ],
)
def test_forms_of_a_word_have_one_stem(words: tuple[str, ...], root: str) -> None:
    assert {stem(word) for word in words} == {root}


@pytest.mark.parametrize("word", ["was", "c3po", "программа", "ελληνικά", "数据"])
def test_short_words_and_other_scripts_are_their_own_stems(word: str) -> None:
    assert stem(word) == word


@pytest.mark.parametrize(
    ("word", "others"),
    [
        ("car", {"cars"}),
        ("used", {"use", "uses", "using"}),
        ("decided", {"decide", "deciding"}),
        ("running", {"run", "runs"}),
        ("adoption", {"adopt", "adopted"}),
    ],
)
def test_the_forms_of_a_word_begin_with_it_and_share_its_stem(word: str, others: set[str]) -> None:
    found = forms(word)
    assert found[0] == word
    assert others <= set(found)
    assert {stem(each) for each in found} == {stem(word)}


@given(st.text("abcdeiostuyzl", min_size=1, max_size=9))
def test_a_stem_begins_as_its_word_does(word: str) -> None:
    assert word.startswith(stem(word)[:2])
