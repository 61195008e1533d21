"""`hermes-jobs memory log`, `undo`, `why` and `at`: writes, their origins, and earlier states."""

from __future__ import annotations

import click

from hermes_jobs.features.memory import api
from hermes_jobs.features.memory.cli.contents import print_changed, print_contents
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import note, print_text
from hermes_jobs.interfaces.cli.param_types import ListedParam, TextParam
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.text.figures import pluralize


@command("log", epilog=example("hermes-jobs memory log -n 5"))
@limit_option("writes, newest first")
def log(context: CliContext, limit: int, as_json: Json) -> None:
    """List all writes: author, time and turn."""
    from hermes_jobs.features.memory.cli.format import memory_writes

    preview = context.application.memory.preview()
    writes = preview.writes[::-1][:limit]
    forgotten = api.forgotten(context.application)
    memory_writes(preview.memory.undone, forgotten).print_list(writes, as_json=as_json)
    if preview.num_pending and not as_json:
        edits = pluralize(preview.num_pending, "edit")
        note(f"{edits} of the files: the next turn, or the next command that changes the memory, records it.")


@command("undo", epilog=example("hermes-jobs memory log", "hermes-jobs memory undo 7"))
@click.argument("number", metavar="N", type=ListedParam("hermes-jobs memory log"))
def undo(context: CliContext, number: int, as_json: Json) -> None:
    """Undo write N of `memory log`.

    The undo is a new write, which can be undone, too.
    """
    note(api.undo(context.application, number))
    print_changed(context, as_json=as_json)


@command("why", epilog=example('hermes-jobs memory why "metric units"'))
@click.argument("text", type=TextParam())
@limit_option("entries", default=5)
def why(context: CliContext, text: str, limit: int, as_json: Json) -> None:
    """Show where an entry came from.

    The session, the turn, and your message there.
    """
    from hermes_jobs.features.memory.cli.format import Provenance, entries_with

    preview = context.application.memory.preview()
    now, writes, forgotten = preview.memory, preview.writes, api.forgotten(context.application)
    entries = entries_with(text, now, writes, forgotten)[:limit]
    evidences = Provenance(context.application, writes, forgotten)
    print_result(
        lambda: [evidences.as_object(entry, now) for entry in entries],
        lambda: print_text("\n\n".join(evidences.as_text(entry, now) for entry in entries)),
        as_json=as_json,
    )


@command("at", epilog=example("hermes-jobs memory at yesterday", 'hermes-jobs memory at "2026-11-01 12:00"'))
@click.argument("date")
def at(context: CliContext, date: str, as_json: Json) -> None:
    """Show the memory as it was at a time, or at the end of a day."""
    from hermes_jobs.features.memory.cli.format import moment, removal_note
    from hermes_jobs.features.memory.rules.entries import Recorded, entries_with_history, placed
    from hermes_jobs.features.memory.rules.memory import Memory, fold

    until = moment(date)
    past = [write for write in context.application.memory.preview().writes if write.at <= until]
    events = [write.event for write in past]
    removals = api.forgotten(context.application).items()
    forgotten = [recorded for version, recorded in removals if version <= len(events)]
    if forgotten:
        writes = pluralize(len(forgotten), "write")
        note(f"Of {writes} up to then the text is not known any more: {removal_note(forgotten[-1])}.")
    then = fold(Memory(), events)
    entries = entries_with_history(
        then, (Recorded(previous.version, previous.event, previous.at) for previous in past)
    )
    places = placed(entries, context.application.memory_limits, allowed=then.allowed)
    print_contents(context, places, None, as_json=as_json)
