"""Titles: what is left of one, and when two are the same name."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.domain.errors import Rejected
from hermes_jobs.domain.titles import MAX_LENGTH, clean_title, title_key


@given(st.text(max_size=150))
def test_a_clean_title_is_one_line_that_moves_no_cursor_and_stays_as_it_is(title: str) -> None:
    try:
        clean = clean_title(title)
    except Rejected:
        return
    assert 0 < len(clean) <= MAX_LENGTH
    assert not {unicodedata.category(each) for each in clean} & {"Cc", "Zl", "Zp"}
    assert not {unicodedata.bidirectional(each) for each in clean} & {
        "RLO",
        "LRO",
        "RLE",
        "LRE",
        "RLI",
        "LRI",
    }
    assert clean_title(clean) == clean


@pytest.mark.parametrize("title", ["", " \t", "\x07\u202e", "\x1b[31m", "x" * 101])
def test_a_title_of_nothing_or_too_much_is_refused(title: str) -> None:
    with pytest.raises(Rejected):
        clean_title(title)


@pytest.mark.parametrize(
    ("one", "other"), [("Straße", "STRASSE"), ("Trip  to Rome", "trip to rome"), ("Caf\u00e9", "Cafe\u0301")]
)
def test_case_spaces_and_composition_make_no_other_name(one: str, other: str) -> None:
    assert title_key(one) == title_key(other)
