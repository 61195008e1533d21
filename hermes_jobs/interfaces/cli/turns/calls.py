"""Prints the outputs of a turn's tools: folded, or complete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.output import COLOURS, cut, flowed, one_line, terminal_width
from hermes_jobs.interfaces.cli.turns.progress import call_summary
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.kernel.events.recorded import RecordedEvent
    from hermes_jobs.kernel.views.models import StepView

HEAD, TAIL = 5, 3  # lines of a folded output
LINE = 160  # columns of such a line in a pipe
INDENT = "  "

Outputs = Mapping[tuple[str, int], e.ToolFinished]
"""The results of calls, by call and attempt."""


def outputs_of(events: Iterable[RecordedEvent]) -> Outputs:
    """The tool results in these events."""
    finished = (
        recorded_event.event for recorded_event in events if isinstance(recorded_event.event, e.ToolFinished)
    )
    return {(event.call, event.attempt): event for event in finished}


def print_calls(steps: Sequence[StepView], outputs: Outputs, *, is_whole: bool) -> bool:
    """Print each tool call with its output, folded unless `is_whole`; returns whether any was folded."""
    is_folded = False
    for step in steps:
        if step.kind != "tool_call":
            continue
        output = outputs.get((step.id, step.attempt))
        text = output.content if output is not None and step.outcome != "held" else step.message
        click.echo()
        _print_heading(step)
        lines = printable(text).rstrip().split("\n") if text.strip() else []
        lines_shown = lines if is_whole else fold(lines)
        printed = [_indented(line, is_whole=is_whole) for line in lines_shown]
        is_folded = is_folded or lines_shown != lines or any(line.endswith("…") for line in printed)
        for line in printed:
            click.echo(line)
        for attachment in output.attachments if output is not None else ():
            click.echo(f"{INDENT}Shown: {printable(attachment.about)}")
        if output is not None and output.spilled_to:
            click.secho(f"{INDENT}All of it: results/{step.id}.txt in the home", dim=True)
    return is_folded


def fold(lines: Sequence[str]) -> Sequence[str]:
    """The lines, without the middle if there are many."""
    more = len(lines) - HEAD - TAIL
    if more <= 1:
        return lines
    return [*lines[:HEAD], f"… {pluralize(more, 'more line')} …", *lines[-TAIL:]]


def _print_heading(step: StepView) -> None:
    width = terminal_width()
    outcome = click.style(step.outcome, fg=COLOURS.get(step.outcome))
    call = call_summary(step.name, step.arguments, (width or LINE) - len(step.outcome) - len(step.name) - 4)
    click.echo(f"{click.style(one_line(call), bold=True)}  {outcome}")


def _indented(line: str, *, is_whole: bool) -> str:
    width = terminal_width()
    if is_whole:
        wide = flowed(line, width - len(INDENT) if width else None)
        return "\n".join(f"{INDENT}{line}".rstrip() for line in wide.split("\n"))
    return f"{INDENT}{cut(line.expandtabs(4), (width or LINE) - len(INDENT))}".rstrip()
