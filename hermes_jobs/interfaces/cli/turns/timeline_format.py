"""A turn's timeline on a terminal: a bar for each step, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

import click

from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.output import COLOURS, GAP, can_print, cut, one_line, terminal_width
from hermes_jobs.interfaces.cli.turns.progress import call_summary
from hermes_jobs.kernel.views.spans import TURN_LANE, SpanKind, TimeSpan
from hermes_jobs.kernel.views.timeline import Timeline, Track, tracks
from hermes_jobs.text.figures import duration

WIDTH = 80  # columns where the output is not a terminal
LABEL = 30  # columns at most
BAR = 16  # columns at least
WORK_KINDS = ("model_call", "reference", "tool_call", "compression", "record")
BAR_CHARACTERS: dict[SpanKind, str] = {
    "approval": "▒",
    "question": "▒",
    "backoff": "─",
    "paused": "─",
    "queued": "░",
    "waiting": "░",
    "ordered": "·",
}
COLOUR: dict[SpanKind, str] = {
    "model_call": "blue",
    "reference": "cyan",
    "tool_call": "green",
    "compression": "yellow",
}
PLAIN = str.maketrans("█▒░─…·", "#=.-~.")  # if the output's encoding lacks block characters


def print_timeline(timeline: Timeline, limit: int | None) -> None:
    """The lines (the last `limit`), with an axis above them."""
    for line in lines(timeline, min(terminal_width() or WIDTH, 120), limit):
        click.echo(line if can_print("█░") else line.translate(PLAIN))


def lines(timeline: Timeline, width: int, limit: int | None = None) -> Sequence[str]:
    """The timeline as text of at most so many columns, in colour."""
    from rich.cells import cell_len, set_cell_size

    tracks_shown = tracks(timeline.spans)[-limit if limit else 0 :]
    if not tracks_shown:
        return []
    text = [_label_of(track) for track in tracks_shown]
    right = max(len("TOOK"), *map(cell_len, text))
    labels = [_label(track) for track in tracks_shown]
    label_width = min(LABEL, max(len("TIMELINE"), *map(cell_len, labels)), width - right - BAR - 2 * len(GAP))
    bar_width = width - label_width - right - 2 * len(GAP)
    axis = duration(timeline.seconds).rjust(bar_width - 1)
    header = f"{'TIMELINE':<{label_width}}{GAP}0{axis}{GAP}TOOK"
    bars = [_bar(track, timeline.seconds, bar_width) for track in tracks_shown]
    names = [set_cell_size(cut(label, label_width), label_width) for label in labels]
    rows = [GAP.join(row).rstrip() for row in zip(names, bars, text, strict=True)]
    return [click.style(header, bold=True), *rows]


def _bar(track: Track, seconds: float, width: int) -> str:
    """The track's spans, each at least a column, later ones over earlier ones."""
    cells = [" "] * width
    for span in track.spans:
        scale = width / seconds if seconds else 0.0
        first = min(floor(span.start * scale), width - 1)
        beyond = min(max(ceil(span.end * scale), first + 1), width)
        cells[first:beyond] = [BAR_CHARACTERS.get(span.kind, "█")] * (beyond - first)
    text = "".join(cells)
    blank = len(text) - len(text.lstrip())
    return text[:blank] + click.style(text[blank:].rstrip(), fg=_colour(track.last)) + _blank(text)


def _blank(text: str) -> str:
    return " " * (len(text) - len(text.rstrip()))


def _colour(span: TimeSpan) -> str:
    if span.outcome not in {"ok", "approved", "answered"}:
        return COLOURS.get(span.outcome, "red")
    return COLOUR.get(span.kind, "bright_black")


def _label(track: Track) -> str:
    span = track.last
    name = one_line(track.name) if span.lane == TURN_LANE else call_summary(track.name, span.arguments)
    indent = "" if span.lane == TURN_LANE else GAP
    name = f"{span.number}. {name}" if span.number else name
    return f"{indent}{name}" if span.attempt == 1 else f"{indent}{name}, try {span.attempt}"


def _label_of(track: Track) -> str:
    span = track.last
    took = "" if span.kind == "ordered" else duration(span.seconds)
    if span.after:
        took = f"{took}, after {' and '.join(map(str, span.after))}".removeprefix(", ")
    if span.retry_at is not None:
        return f"{took}, again {format_time(span.retry_at, seconds=True)}"
    if span.outcome in {"ok", "approved", "answered"} or (
        span.lane == TURN_LANE and span.kind not in WORK_KINDS
    ):
        return took
    return f"{took} {span.outcome}"
