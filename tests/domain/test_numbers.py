"""Numbers of things, as they are said."""

from __future__ import annotations

import pytest

from hermes_jobs.text.figures import pluralize


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (pluralize(0, "file"), "0 files"),
        (pluralize(1, "file"), "1 file"),
        (pluralize(1_200, "file"), "1,200 files"),
        (pluralize(1, "entry", "entries"), "1 entry"),
        (pluralize(2, "entry", "entries"), "2 entries"),
    ],
)
def test_counts_have_singular_and_plural(said: str, expected: str) -> None:
    assert said == expected
