"""Diffs for users: in colour, and folded to some lines."""

from __future__ import annotations

from collections.abc import Sequence

import click

from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.text.figures import pluralize

FOLD = 20  # lines of a diff under a call
INDENT = "  "


def colour(lines: Sequence[str]) -> list[str]:
    """The lines of a unified diff in the usual colours, without control characters."""
    return [_colour(printable(line)) for line in lines]


def fold(diff: str, turn: str, maximum: int = FOLD) -> list[str]:
    """The coloured beginning of a diff without its two lines of names, and how to see the rest."""
    lines = diff.split("\n")
    has_header = len(lines) > 2 and lines[0].startswith("--- ") and lines[1].startswith("+++ ")
    lines = lines[2:] if has_header else lines
    if len(lines) <= maximum + 1:
        return [f"{INDENT}{line}" for line in colour(lines)]
    rest = pluralize(len(lines) - maximum, "more line")
    more = click.style(f"… {rest}: hermes-jobs turns diff {turn}", dim=True)
    return [f"{INDENT}{line}" for line in (*colour(lines[:maximum]), more)]


def counts(added: int, removed: int) -> str:
    """The added and removed lines: `+3 −1`."""
    return " ".join([f"+{added}"] * bool(added) + [f"−{removed}"] * bool(removed))


def bar(added: int, removed: int, largest: int, width: int) -> str:
    """The change as plus and minus signs, to the scale of the largest one."""
    scale = min(1.0, width / largest) if largest else 0.0
    plus, minus = (max(1, round(count * scale)) if count else 0 for count in (added, removed))
    return click.style("+" * plus, fg="green") + click.style("-" * minus, fg="red")


def _colour(line: str) -> str:
    if line.startswith(("--- ", "+++ ")):
        return click.style(line, bold=True)
    colours = {"@": "cyan", "+": "green", "-": "red"}
    colour = colours.get(line[:1])
    return click.style(line, fg=colour) if colour else line
