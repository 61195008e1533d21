"""Numbers of things, as they are said."""

from __future__ import annotations

import pytest

from hermes_jobs.text.plural import how_many


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (how_many(0, "file"), "0 files"),
        (how_many(1, "file"), "1 file"),
        (how_many(1_200, "file"), "1,200 files"),
        (how_many(1, "entry", "entries"), "1 entry"),
        (how_many(2, "entry", "entries"), "2 entries"),
    ],
)
def test_a_number_of_things_is_said_as_people_say_it(said: str, expected: str) -> None:
    assert said == expected
