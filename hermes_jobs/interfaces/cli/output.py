"""How values are shown: JSON for scripts, aligned tables and times for people. Data on standard output,
notes on standard error."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from hermes_jobs.domain.session.titles import UNPRINTABLE, printable
from hermes_jobs.interfaces.cli.zones import to_local

GAP = "  "
CELL = 100  # characters of a free text in a table that is not on a terminal
COLOURS = {
    "completed": "green",
    "ok": "green",
    "failed": "red",
    "error": "red",
    "denied": "red",
    "cancelled": "yellow",
    "interrupted": "yellow",
    "abandoned": "yellow",
    "discarded": "yellow",
    "waiting": "magenta",
    "running": "cyan",
}


def print_json(value: object) -> None:
    """One JSON value on standard output, in UTF-8: a line, or indented on a terminal."""
    import msgspec

    encoded = msgspec.json.encode(value)
    if sys.stdout.isatty():
        encoded = msgspec.json.format(encoded, indent=2)
    echo_json(encoded)


def echo_json(encoded: bytes) -> None:
    """Encoded JSON on standard output; for a terminal, what it would obey is written by its code."""
    if sys.stdout.isatty():
        encoded = UNPRINTABLE.sub(_by_code, encoded.decode()).encode()
    click.echo(encoded)


def _by_code(found: re.Match[str]) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in found[0])


def note(text: str) -> None:
    """Something for the person, not for the pipe; its text may be of any origin."""
    click.echo(printable(text), err=True)


def print_text(text: str) -> None:
    """A text of any origin on standard output, with nothing in it that moves the cursor."""
    click.echo(printable(text))


def print_heading(text: str) -> None:
    """What stands over a text, in bold on one line."""
    click.secho(one_line(text), bold=True)


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows in aligned columns, one line each. On a terminal the last column is cut to what fits."""
    from rich.cells import cell_len, set_cell_size

    cells = [[one_line(cell) for cell in row] for row in rows]
    lines = [list(headers), *cells]
    widths = [max(cell_len(line[at]) for line in lines) for at in range(len(headers))]
    room = terminal_width()
    last = max(room - sum(widths[:-1]) - len(GAP) * (len(widths) - 1), 8) if room else CELL
    for number, line in enumerate(lines):
        fixed = [set_cell_size(cell, width) for cell, width in zip(line[:-1], widths[:-1], strict=True)]
        text = GAP.join([*fixed, cut(line[-1], last)]).rstrip()
        text = cut(text, room) if room else text
        click.echo(click.style(text, bold=True) if number == 0 else _coloured(text, fixed))


def cut(text: str, width: int) -> str:
    """A line's beginning that takes at most so many columns."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def terminal_width() -> int | None:
    """The terminal's width; null where the output is no terminal."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _coloured(text: str, cells: Sequence[str]) -> str:
    """The line with its states in their colours; the first cell is a name and stays as it is."""
    for cell in cells[1:]:
        state = cell.strip()
        if state in COLOURS and f" {state}" in text:
            text = text.replace(f" {state}", f" {click.style(state, fg=COLOURS[state])}", 1)
    return text


def print_fields(fields: Sequence[tuple[str, str]]) -> None:
    """Names and values below each other; empty values are left out."""
    width = max(len(name) for name, _ in fields)
    for name, value in fields:
        if value:
            click.echo(f"{name:<{width}}  {one_line(value)}")


def one_line(text: str) -> str:
    """The text on one line."""
    return " ".join(printable(text).split())


def format_time(moment: str | None, now: datetime | None = None) -> str:
    """A moment of the log in the zone here, with how long ago it was while that is less than a day."""
    if moment is None:
        return ""
    at = datetime.fromisoformat(moment)
    clock = to_local(at).strftime("%Y-%m-%d %H:%M:%S")
    seconds = ((now or datetime.now(UTC)) - at).total_seconds()
    return f"{clock} ({format_age(seconds)})" if 0 <= seconds < 86_400 else clock


def format_short_time(moment: str, now: datetime | None = None) -> str:
    """A moment of the log for a column: how long ago, or the day and minute."""
    at = datetime.fromisoformat(moment)
    seconds = ((now or datetime.now(UTC)) - at).total_seconds()
    return format_age(seconds) if 0 <= seconds < 86_400 else to_local(at).strftime("%Y-%m-%d %H:%M")


def format_age(seconds: float) -> str:
    """So many seconds in the past, in the largest unit that fits."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return f"{int(seconds)} s ago"


def format_cost(cost_usd: float | None) -> str:
    """US dollars for people; an unknown price is said, not guessed."""
    return "unknown" if cost_usd is None else f"${cost_usd:.4f}"
