"""Regular expressions of people, searched for within a time."""

from __future__ import annotations

import pytest

from hermes_jobs.system.bounded_process import is_found


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("[0-9]", "It took 7 days.", True),
        ("^b", "a\nb", False),
        ("(?m)^b", "a\nb", True),
        ("ü\0", "ü\0", True),
    ],
)
def test_an_expression_is_found_or_not(pattern: str, text: str, found: bool) -> None:
    assert is_found(pattern, text, 30) is found


def test_half_a_surrogate_pair_can_be_searched_for() -> None:
    assert is_found("\ud83d", "\ud83d", 30)


def test_one_that_would_take_for_ever_is_ended() -> None:
    assert is_found("(a+)+$", "a" * 200 + "!", 0.2) is None
