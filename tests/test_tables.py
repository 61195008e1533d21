"""A table that is one test fails as its rows would as tests of their own."""

from __future__ import annotations

import pytest

from tests.tables import each_row


def test_every_row_that_fails_is_named() -> None:
    @each_row([(1, 1), (1, 2), (2, 2), (3, 0)])
    def test_they_are_equal(first: int, second: int) -> None:
        assert first == second if second else first / second

    with pytest.raises(ExceptionGroup, match="2 of 4 rows fail") as failed:
        test_they_are_equal()
    wrong, broken = failed.value.exceptions
    assert (type(wrong), wrong.__notes__) == (AssertionError, ["The row is (1, 2)."])
    assert (type(broken), broken.__notes__) == (ZeroDivisionError, ["The row is (3, 0)."])


def test_a_row_that_is_no_tuple_is_one_argument() -> None:
    seen: list[object] = []
    each_row(["a", ["b", "c"]])(seen.append)()
    assert seen == ["a", ["b", "c"]]


def test_an_empty_table_fails() -> None:
    with pytest.raises(AssertionError, match="empty"):
        each_row([])(print)()
