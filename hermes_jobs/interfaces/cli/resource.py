"""Resources on the command line: the columns, fields and JSON of one kind of value, stated once.

A command reads values and passes them to their resource: `print_list`, `print_one`, `print_outcome`. Values
without columns go to `print_result`. Commands do not check `--json` themselves.
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
    """Prints values of one kind.

    `columns` make the table of a list, `fields` the beginning of a single value, and `to_json` the output for
    scripts. `empty` is the note for an empty list. `by_day`: the list is in the order of its first column of
    times, and is grouped by the day on a terminal."""

    columns: Sequence[Column[T]]
    empty: str
    to_json: Callable[[T], object] = _as_is
    fields: Callable[[T], Sequence[tuple[str, str]]] = _no_fields
    by_day: bool = False

    def print_list(self, items: Sequence[T], *, as_json: bool, empty: str = "") -> None:
        """Print all of them as one JSON list or as a table; for none a note, `empty` where given."""
        if as_json:
            print_json([self.to_json(item) for item in items])
        elif items:
            print_rows(self.columns, items, by_day=self.by_day)
        else:
            note(empty or self.empty)

    def print_one(self, value: T, *, as_json: bool, details: Callable[[], None]) -> None:
        """Print one as JSON, or its fields with `details` below them."""
        if as_json:
            print_json(self.to_json(value))
            return
        print_fields(self.fields(value))
        details()

    def print_outcome(self, value: Callable[[], T], text: str, *, as_json: bool) -> None:
        """Print the value after a change, read only for JSON, or a note on the change."""
        print_result(lambda: self.to_json(value()), text, as_json=as_json)


def print_result(value: Callable[[], object], text: str | Callable[[], None], *, as_json: bool) -> None:
    """Print a command's result, read only for JSON; else note or print the text."""
    if as_json:
        print_json(value())
    elif isinstance(text, str):
        note(text)
    else:
        text()
