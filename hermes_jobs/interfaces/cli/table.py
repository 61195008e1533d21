"""Tables for users. On a terminal they fit its width: the main column gets the free space and wraps
between words. In a pipe a row is one line, with all columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

import click

from hermes_jobs.interfaces.cli.moments import format_time, local_moment
from hermes_jobs.interfaces.cli.output import COLOURS, GAP, cut, line_width, one_line, terminal_width, wrap

T = TypeVar("T")

CELL = 100  # width of the main cell in a pipe
MIN_MAIN_WIDTH = 36  # the least width of the main column before others are omitted
NARROW = 14  # the least width of another column, unless its cells are narrower: an id stays whole
LINES = 2  # of a cell on a terminal


class Column(NamedTuple, Generic[T]):
    """A column of a table: a title, and the text of a value's cell.

    The main (`telling`) column identifies a row; each table has one, by default its last. Columns with a
    rank are omitted on a narrow terminal, the highest first. `right`: figures, aligned at their end.
    `moment`: the time in the cell, in ISO 8601; below a heading with its day the cell has the clock time.
    """

    header: str
    cell: Callable[[T], str]
    rank: int = 0
    is_main: bool = False
    right: bool = False
    moment: Callable[[T], str | None] | None = None


def moment_column(header: str, moment: Callable[[T], str | None], rank: int = 0) -> Column[T]:
    """A column of times."""
    return Column(header, lambda value: format_time(moment(value)), rank=rank, moment=moment)


def print_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    main: str = "",
    ranks: Sequence[str] = (),
    figures: Sequence[str] = (),
) -> None:
    """Print rows of cells without a resource.

    `ranks`: headers of columns that a narrow terminal omits, the first one last. `figures`: those of
    numbers.
    """
    columns: list[Column[Any]] = [
        Column(
            header,
            itemgetter(index),
            rank=1 + ranks.index(header) if header in ranks else 0,
            is_main=header == main,
            right=header in figures,
        )
        for index, header in enumerate(headers)
    ]
    print_rows(columns, rows)


def print_rows(columns: Sequence[Column[T]], values: Sequence[T], *, by_day: bool = False) -> None:
    """The values as a table; `by_day` puts a heading above those of a day, on a terminal."""
    width = terminal_width()
    days = next((column.moment for column in columns if column.moment), None) if by_day and width else None
    if days is not None:
        columns = [_clock(column) if column.moment is days else column for column in columns]
    cells = [[one_line(column.cell(value)) for column in columns] for value in values]
    table = Table(columns, cells, width)
    click.echo(table.header())
    heading = None
    for value, row in zip(values, cells, strict=True):
        if days is not None and (day := _day(days(value))) != heading:
            heading = day
            click.secho(day, dim=True)
        for line in table.lines(row):
            click.echo(line)


class Table(Generic[T]):
    """Columns laid out for the cells of all rows. `width`: the terminal's columns; None for a pipe."""

    def __init__(
        self, columns: Sequence[Column[T]], cells: Sequence[Sequence[str]], width: int | None
    ) -> None:
        self._columns = columns
        self._width = width
        self._telling = next(
            (index for index, column in enumerate(columns) if column.is_main), len(columns) - 1
        )
        natural = {
            index: max(map(line_width, (column.header, *(row[index] for row in cells))))
            for index, column in enumerate(columns)
            if width is None or index in {0, self._telling} or any(row[index] for row in cells)
        }
        if width is None:
            natural[self._telling] = min(natural[self._telling], CELL)
            self._widths = natural
        else:
            self._widths = self._fitted(natural, width)

    def header(self) -> str:
        """The line of the headers."""
        return click.style(
            self._line({column: self._columns[column].header for column in self._widths}), bold=True
        )

    def lines(self, row: Sequence[str]) -> list[str]:
        """A row, on one or more lines."""
        wrapped = {column: self._wrapped(row[column], column) for column in self._widths}
        height = max(map(len, wrapped.values()))
        return [
            self._line(
                {column: lines[number] if number < len(lines) else "" for column, lines in wrapped.items()}
            )
            for number in range(height)
        ]

    def _wrapped(self, cell: str, column: int) -> list[str]:
        width = self._widths[column]
        if self._width is None:
            return [cut(cell, width)]
        return wrap(cell, width, LINES)

    def _line(self, cells: dict[int, str]) -> str:
        texts = []
        for column, cell in cells.items():
            blank = " " * (self._widths[column] - line_width(cell))
            styled = self._coloured(cell, column)
            texts.append(f"{blank}{styled}" if self._columns[column].right else f"{styled}{blank}")
        return GAP.join(texts).rstrip()

    def _coloured(self, cell: str, column: int) -> str:
        """A state in its colour, except in the first and the main column."""
        is_state = 0 < column != self._telling and cell in COLOURS
        return click.style(cell, fg=COLOURS[cell]) if is_state else cell

    def _fitted(self, natural: dict[int, int], width: int) -> dict[int, int]:
        """The shown columns on a terminal, each with its width."""
        widths, main = natural, self._telling
        minimum = min(widths[main], MIN_MAIN_WIDTH)
        while (over := _total(widths) - width) > 0:
            if widths[main] - minimum >= over:
                return widths | {main: widths[main] - over}
            ranked = [column for column in widths if self._columns[column].rank and column != main]
            if not ranked:
                break
            del widths[max(ranked, key=lambda column: self._columns[column].rank)]
        return self._narrowed(widths, width) if over > 0 else widths

    def _narrowed(self, widths: dict[int, int], width: int) -> dict[int, int]:
        """The required columns, narrower than their cells: first the widest are narrowed, then all."""
        main = self._telling
        widths[main] = min(widths[main], MIN_MAIN_WIDTH)
        for _ in range(_total(widths) - width):
            widest = max(
                widths, key=lambda column: (column != main and widths[column] > NARROW, widths[column])
            )
            widths[widest] = max(widths[widest] - 1, 1)
        return widths


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + len(GAP) * (len(widths) - 1)


def _clock(column: Column[T]) -> Column[T]:
    moment = column.moment
    assert moment is not None
    return column._replace(cell=lambda value: f"{local_moment(at):%H:%M}" if (at := moment(value)) else "")


def _day(moment: str | None) -> str:
    from hermes_jobs.interfaces.cli.moments import format_day

    text = format_day(moment) if moment else ""
    return text[:1].upper() + text[1:]
