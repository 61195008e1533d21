"""`hermes-jobs log views`: the progress of the read models, and rebuilding them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, example
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.resource import Resource, print_result
from hermes_jobs.interfaces.cli.table import Column
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.kernel.views.models import GenerationStatus, ViewsStatus


@group(epilog=example("hermes-jobs log views status"))
def views() -> None:
    """Show the state of the read models, or rebuild them."""


@views.command("status", epilog=example("hermes-jobs log views status --json"))
def show_status(context: CliContext, as_json: Json) -> None:
    """Show how far the views are behind the log.

    One row per file: position, events behind, size, rows of each table.
    """
    status = context.application.views.status()

    def print_text() -> None:
        GENERATIONS.print_list(status.generations, as_json=False)
        _note_end(status)

    print_result(lambda: status, print_text, as_json=as_json)


@views.command("rebuild", epilog=example("hermes-jobs log views rebuild"))
def rebuild(context: CliContext, as_json: Json) -> None:
    """Rebuild the views from the log.

    Readers and workers continue meanwhile.
    """
    views = context.application.views
    views.rebuild()
    status = views.status()

    def print_text() -> None:
        events = sum(generation.position for generation in status.generations if generation.current)
        note(f"Rebuilt from {pluralize(events, 'event')}.")
        _note_end(status)

    print_result(lambda: status, print_text, as_json=as_json)


def _rows(status: GenerationStatus) -> str:
    return status.problem or ", ".join(f"{table} {count:,}" for table, count in status.rows.items())


GENERATIONS: Resource[GenerationStatus] = Resource(
    (
        Column("FILE", lambda item: item.file),
        Column("CURRENT", lambda item: "yes" if item.current else "no"),
        Column("POSITION", lambda item: f"{item.position:,}", right=True),
        Column("BEHIND", lambda item: f"{item.behind:,}", right=True),
        Column("SIZE", lambda item: f"{item.size / 1e6:.1f} MB", rank=1, right=True),
        Column("ROWS", _rows, is_main=True),
    ),
    "There are none yet; the next command that needs them builds them.",
)


def _note_end(status: ViewsStatus) -> None:
    if status.stopped:
        note(f"They stop before the log's end: {status.stopped}")
