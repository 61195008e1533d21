"""`hermes-jobs views`: how far the read models are, and making them again from the log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import example, json_option
from hermes_jobs.interfaces.cli.output import note, print_json, print_table
from hermes_jobs.text.plural import pluralize

if TYPE_CHECKING:
    from hermes_jobs.views.models import ViewsStatus


@click.group(epilog=example("hermes-jobs views status"))
def views() -> None:
    """The read models: how far they are, and rebuilding them."""


@views.command("status", epilog=example("hermes-jobs views status --json"))
@json_option
@pass_context
def show_status(context: CliContext, as_json: bool) -> None:
    """Show how far the views are behind the log.

    One row a file: position, events behind, size, rows in each table.
    """
    status = context.application.views.status()
    if as_json:
        print_json(status)
        return
    rows = [
        (
            each.file,
            "yes" if each.current else "no",
            str(each.position),
            str(each.behind),
            f"{each.size / 1e6:.1f} MB",
            each.problem or ", ".join(f"{table} {count}" for table, count in each.rows.items()),
        )
        for each in status.generations
    ]
    print_table(("FILE", "CURRENT", "POSITION", "BEHIND", "SIZE", "ROWS"), rows)
    if not rows:
        note("There are none yet; the next command that reads builds them.")
    _note_end(status)


@views.command("rebuild", epilog=example("hermes-jobs views rebuild"))
@json_option
@pass_context
def rebuild(context: CliContext, as_json: bool) -> None:
    """Make the views again from the log.

    Readers and workers go on meanwhile.
    """
    views = context.application.views
    on_terminal = sys.stderr.isatty()

    def progress(position: int, last: int) -> None:
        if on_terminal:
            click.echo(f"\r{position * 100 // max(last, 1)} % of {last} events", err=True, nl=False)

    views.rebuild(progress)
    if on_terminal:
        click.echo(err=True)
    status = views.status()
    if as_json:
        print_json(status)
    else:
        events = sum(each.position for each in status.generations if each.current)
        note(f"Rebuilt from {pluralize(events, 'event')}.")
        _note_end(status)


def _note_end(status: ViewsStatus) -> None:
    if status.stopped:
        note(f"They stop before the log's end: {status.stopped}")
