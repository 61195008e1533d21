"""Titles: what is left of one, and when two are the same name."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.turns.titles import MAX_LENGTH, clean_title, given_title, title_key


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


@pytest.mark.parametrize(
    "title",
    [
        "",
        " \t",
        "\x07\u202e",
        "\x1b[31m",
        "x" * 101,
        "\u200b\u200b",
        "\ufeff \u2060",
        "\u3164",
        "\u200d",
        "\ufe0f",
    ],
)
def test_a_title_of_nothing_or_too_much_is_refused(title: str) -> None:
    with pytest.raises(Rejected):
        clean_title(title)


@pytest.mark.parametrize(
    ("one", "other"), [("Straße", "STRASSE"), ("Trip  to Rome", "trip to rome"), ("Caf\u00e9", "Cafe\u0301")]
)
def test_case_spaces_and_composition_make_no_other_name(one: str, other: str) -> None:
    assert title_key(one) == title_key(other)


@pytest.mark.parametrize(
    ("title", "clean"),
    [
        ("Daily\u200b log", "Daily log"),
        ("\ufeffDaily\u2060 l\u00adog\u200d", "Daily log"),
        ("Da\u200cily\u200d log", "Daily log"),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0646\u0645",
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0646\u0645",
        ),
        ("\U0001f469\u200d\U0001f680 trip", "\U0001f469\u200d\U0001f680 trip"),
    ],
    ids=["space", "many", "joiners in Latin", "Persian", "emoji"],
)
def test_invisible_characters_are_removed(title: str, clean: str) -> None:
    assert clean_title(title) == clean
    assert title_key(title) == title_key(clean)


@pytest.mark.parametrize(
    ("title", "named", "given"),
    [
        ("Daily log", None, "Daily log"),
        ("Daily log #2", "Daily log", "Daily log"),
        ("Daily log #2", "Notes", "Daily log #2"),
        ("Issue #12 #2", "Issue #12", "Issue #12"),
        (f"{'x' * 94} #3", "x" * 100, "x" * 100),
    ],
)
def test_the_title_of_a_lineage_stays_when_its_sessions_are_numbered(
    title: str, named: str | None, given: str
) -> None:
    assert given_title(title, named) == given
