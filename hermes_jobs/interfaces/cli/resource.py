"""Resources on the command line: the columns, fields and JSON of one kind of value, stated once.

A command reads values and hands them to their resource: `print_list`, `print_one`, `print_outcome`. What has
no columns goes to `print_result`. No command asks by itself whether JSON is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from hermes_jobs.interfaces.cli.output import note, print_fields, print_json
from hermes_jobs.interfaces.cli.table import Column, print_rows

T = TypeVar("T")


def _as_is(value: object) -> object:
    return value


def _no_fields(_value: object) -> Sequence[tuple[str, str]]:
    return ()


class Resource(NamedTuple, Generic[T]):
    """How values of one kind are printed.

    `columns` make the table of a list, `fields` what stands first about a single one, and `to_json` is what
    scripts get. `empty` is said of a list of none. `by_day`: the list is in the order of its first column of
    times, and is grouped by the day on a terminal.
    """

    columns: Sequence[Column[T]]
    empty: str
    to_json: Callable[[T], object] = _as_is
    fields: Callable[[T], Sequence[tuple[str, str]]] = _no_fields
    by_day: bool = False

    def print_list(self, found: Sequence[T], *, as_json: bool, empty: str = "") -> None:
        """Print all of them as one JSON list or as a table; for none a note, `empty` where given."""
        if as_json:
            print_json([self.to_json(each) for each in found])
        elif found:
            print_rows(self.columns, found, by_day=self.by_day)
        else:
            note(empty or self.empty)

    def print_one(self, value: T, *, as_json: bool, details: Callable[[], None]) -> None:
        """Print one as JSON, or its fields and what `details` prints below them."""
        if as_json:
            print_json(self.to_json(value))
            return
        print_fields(self.fields(value))
        details()

    def print_outcome(self, value: Callable[[], T], text: str, *, as_json: bool) -> None:
        """Print the value as it is after a change, read only for JSON, or a note that says what was done."""
        print_result(lambda: self.to_json(value()), text, as_json=as_json)


def print_result(value: Callable[[], object], text: str | Callable[[], None], *, as_json: bool) -> None:
    """Print what a command has found or done, which is read only for JSON; else note or print the text."""
    if as_json:
        print_json(value())
    elif isinstance(text, str):
        note(text)
    else:
        text()
