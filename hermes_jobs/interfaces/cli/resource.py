"""A resource on the command line: its columns, its JSON and its text for an empty list, stated once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from hermes_jobs.interfaces.cli.output import note, print_json, print_table

T = TypeVar("T")


def _as_is(value: object) -> object:
    return value


class Resource(NamedTuple, Generic[T]):
    """How values of one kind are printed. `cells` gives a row of the table, `to_json` what scripts get."""

    headers: Sequence[str]
    cells: Callable[[T], Sequence[str]]
    empty: str
    to_json: Callable[[T], object] = _as_is

    def print_list(self, found: Sequence[T], *, as_json: bool, empty: str = "") -> None:
        """Print all of them as one JSON list or as a table; for none a note, `empty` where given."""
        if as_json:
            print_json([self.to_json(each) for each in found])
        elif found:
            print_table(self.headers, [self.cells(each) for each in found])
        else:
            note(empty or self.empty)

    def print_outcome(self, value: Callable[[], T], text: str, *, as_json: bool) -> None:
        """Print the value as it is after a change, read only for JSON, or a note that says what was done."""
        if as_json:
            print_json(self.to_json(value()))
        else:
            note(text)
