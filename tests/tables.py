"""Long tables of cases."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def each_row(rows: Sequence[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """As `pytest.mark.parametrize`, but one test for the whole table, which fails with all rows that fail.

    A row is a tuple of arguments, or the only argument. Fixtures are not passed. pytest takes milliseconds
    for each test, in every process that collects it: for a thousand rows, that is longer than what they test.
    """

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        @functools.wraps(test)
        def whole_table() -> None:
            failures = [failure for row in rows if (failure := _failure(test, row))]
            assert rows, "the table is empty"
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(rows)} rows fail", failures)

        del whole_table.__wrapped__  # pytest would look for the row's fixtures
        return whole_table

    return decorate


def slow(*rows: Any) -> list[pytest.ParameterSet]:
    """Rows for `parametrize` that `make test` leaves out; beside them stands a sample which it runs."""
    return [pytest.param(*(row if type(row) is tuple else (row,)), marks=pytest.mark.slow) for row in rows]


def nightly(*rows: Any) -> list[pytest.ParameterSet]:
    """Rows for `parametrize` that `make nightly` alone runs; beside them stands a sample which CI runs."""
    return [pytest.param(*(row if type(row) is tuple else (row,)), marks=pytest.mark.nightly) for row in rows]


def slow_sample(rows: Iterable[Any], every: int) -> list[pytest.ParameterSet]:
    """Rows for `parametrize`: CI runs the first and every so-manieth, `make nightly` the others."""
    return [made for at, row in enumerate(rows) for made in (nightly if at % every else slow)(row)]


def sampled(rows: Iterable[Any], every: int, in_ci: int = 1) -> list[Any]:
    """Rows for `parametrize`: `make test` has the first and each so-manieth, `slow_sample` the others."""
    rows = list(rows)
    others = iter(slow_sample((row for at, row in enumerate(rows) if at % every), in_ci))
    return [next(others) if at % every else row for at, row in enumerate(rows)]


def _failure(test: Callable[..., None], row: Any) -> Exception | None:
    try:
        test(*(row if type(row) is tuple else (row,)))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is shown with those of other rows
        error.add_note(f"The row is {row!r}.")
        return error
    return None
