"""Prints values: JSON for scripts, texts and fields for users. Data on standard output, notes on
standard error."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, TextIO

import click
import msgspec

from hermes_jobs.kernel.turns.titles import UNPRINTABLE, printable

if TYPE_CHECKING:
    from hermes_jobs.features.usage.tables.usage import UnknownCost
    from hermes_jobs.kernel.events.recorded import RecordedEvent
    from hermes_jobs.kernel.views.tree import Tree

GAP = "  "
MIN_TEXT_COLUMNS = 8  # the least columns of a text
MIN_LINE_SHARE = 0.6  # the least share of a line that is kept when it is cut between words
_WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60"
_CLOSING = "、。，．：；！？」』）］｝〉》】〕"  # characters that must not begin a line
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
    "held": "magenta",
    "running": "cyan",
}


def print_json(value: object) -> None:
    """One JSON value on standard output, in UTF-8: a line, or indented on a terminal."""
    encoded = msgspec.json.encode(value)
    if sys.stdout.isatty():
        encoded = msgspec.json.format(encoded, indent=2)
    echo_json(encoded)


def echo_json(encoded: bytes) -> None:
    """Print encoded JSON on standard output; on a terminal control characters are escaped."""
    if sys.stdout.isatty():
        encoded = UNPRINTABLE.sub(_by_code, encoded.decode()).encode()
    click.echo(encoded)


def _by_code(match: re.Match[str]) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in match[0])


def note(text: str) -> None:
    """Print a note on standard error; the text may be untrusted."""
    click.echo(flowed(printable(text), terminal_width(sys.stderr)), err=True)


def print_text(text: str) -> None:
    """Print an untrusted text on standard output, without control characters."""
    click.echo(flowed(printable(text), terminal_width()))


def flowed(text: str, width: int | None) -> str:
    """The text with lines that are too wide for the terminal broken between words, under their beginning."""
    if width is None:
        return text
    if all(line_width(line) <= width for line in text.split("\n")):
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        indent = line[: min(len(line) - len(line.lstrip()), width // 2)]
        broken = wrap(line, width - len(indent)) if line_width(line) > width else [line[len(indent) :]]
        lines += [f"{indent}{line}" for line in broken]
    return "\n".join(lines)


def print_heading(text: str) -> None:
    """Print a heading, in bold on one line."""
    click.secho(one_line(text), bold=True)


def cut(text: str, width: int) -> str:
    """A line's beginning that takes at most `width` columns, up to the end of a word if one is near."""
    if line_width(text) <= width:
        return text
    from rich.cells import cell_len, set_cell_size

    shortened = set_cell_size(text, max(width - 1, 0)).rstrip()
    text_cut = shortened if text[len(shortened) :][:1].isspace() else shortened.rpartition(" ")[0].rstrip()
    is_near = text_cut and cell_len(text_cut) > width * MIN_LINE_SHARE
    return f"{text_cut} …" if is_near and cell_len(text_cut) + 2 <= width else f"{shortened}…"


def wrap(text: str, width: int, maximum: int | None = None) -> list[str]:
    """One line of text as lines of at most `width` columns, broken between words; at most `maximum` of them.

    Only a word that is wider than a line is broken itself. Chinese and Japanese may be broken anywhere.
    """
    lines, line = [], ""
    for match in _pieces().finditer(text.rstrip()):
        joined = f"{line} {match[2]}" if line and match[1] else f"{line}{match[2]}"
        if line_width(joined) <= width:
            line = joined
            continue
        *full, line = [*filter(None, [line]), *_chopped(match[2], width)]
        lines += full
    lines.append(line)
    if maximum is None or len(lines) <= maximum:
        return lines
    return [*lines[: maximum - 1], cut(f"{lines[maximum - 1]} {lines[maximum]}", width)]


def _chopped(word: str, width: int) -> list[str]:
    from rich.cells import chop_cells

    return chop_cells(word, width)


def whole_lines(text: str, width: int | None) -> list[str]:
    """The text's lines character by character as they are, in pieces of at most `width` columns."""
    lines = text.splitlines()
    if width is None or all(line_width(line) <= width for line in lines):
        return lines
    return [piece for line in lines for piece in _chopped(line, width) or [""]]


def line_width(text: str) -> int:
    """How many columns a line takes on a terminal; colours take none."""
    plain = click.unstyle(text)
    if plain.isascii():
        return len(plain)
    from rich.cells import cell_len

    return cell_len(plain)


@cache
def _pieces() -> re.Pattern[str]:
    """The pattern of the pieces of a line: a word, or a character after which lines may break. Compiling it
    takes milliseconds."""
    return re.compile(rf"(\s*)([{_WIDE}][{_CLOSING}]*|[^\s{_WIDE}]+)")


def terminal_width(stream: TextIO | None = None) -> int | None:
    """The terminal's width; None if the stream, by default standard output, is not a terminal."""
    if not (stream or sys.stdout).isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def print_fields(fields: Sequence[tuple[str, str]]) -> None:
    """Names and values below each other, on a terminal broken between words; empty values are left out."""
    width = max(len(name) for name, _ in fields)
    columns = terminal_width()
    for name, value in fields:
        if value:
            text = one_line(value)
            lines = wrap(text, max(columns - width - len(GAP), MIN_TEXT_COLUMNS)) if columns else [text]
            click.echo(f"{name:<{width}}{GAP}" + f"\n{' ' * width}{GAP}".join(lines))


def one_line(text: str) -> str:
    """The text on one line."""
    return " ".join(printable(text).split())


def short_path(path: str, width: int | None = None) -> str:
    """A folder for users: the home directory as `~`; cut at its front where `width` (columns) is given."""
    home = os.path.expanduser("~")  # noqa: PTH111 - nothing is raised where there is none
    inside = path == home or path.startswith(home.rstrip("/") + "/")
    short = one_line("~" + path[len(home) :] if inside and home != "/" else path)
    return short if width is None or len(short) <= width else "…" + short[1 - width :]


def note_unknown_costs(costs: Sequence[UnknownCost]) -> None:
    """Print which costs are missing above, and how to set a price."""
    from hermes_jobs.text.figures import price_command, unknown_costs

    if text := unknown_costs(costs):
        note(f"Not in the cost: {text}.")
    if command := price_command(costs):
        click.echo(f"  for calls to come: {printable(command)}", err=True)  # whole, to be copied


def can_print(text: str) -> bool:
    """Whether the encoding of standard output has these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def footer_line(seconds: float, below: Tree, tokens: int = 0, window: int = 0) -> str:
    """The line with the figures of the turn and its sub-agents.

    The share of the context in use is omitted if `window` (tokens) is 0.
    """
    from hermes_jobs.text.figures import cost_text, duration

    fill = f"{tokens / window:.0%} of {short_tokens(window)} tokens" if window else ""
    cost = cost_text(below.totals.cost_usd, below.totals.known_cost_usd)
    whose = " with sub-agents" if below.children else ""
    suffix = " so far" if below.is_at_work else ""
    parts = (duration(seconds), f"{cost}{whose}{suffix}", fill, f"turn {below.turn.id}")
    return "· " + " · ".join(part for part in parts if part)


def short_tokens(tokens: int) -> str:
    """A number of tokens in thousands."""
    return f"{tokens // 1000}k" if tokens >= 1000 else str(tokens)


def print_event(recorded: RecordedEvent) -> None:
    """One JSON object on one line of standard output, in UTF-8."""
    echo_json(event_json(recorded))


def event_json(recorded: RecordedEvent) -> bytes:
    """The event as one JSON object."""
    from hermes_jobs.kernel.events import OpaqueEvent
    from hermes_jobs.system.struct_types import all_fields

    event = recorded.event
    line = {
        "position": recorded.position,
        "stream": recorded.stream,
        "version": recorded.version,
        "type": recorded.type,
        "data": msgspec.Raw(event.data) if isinstance(event, OpaqueEvent) else all_fields(event),
        "meta": {**msgspec.to_builtins(recorded.meta), "schema": recorded.schema},
        "recorded_at": recorded.recorded_at,
    }
    return msgspec.json.encode(line)
