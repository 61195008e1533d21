"""`hermes-jobs memory log`, `undo`, `why` and `at`: writes, their origins, and earlier states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory.cli.contents import print_changed, print_contents
from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import example, json_option, limit_option
from hermes_jobs.interfaces.cli.output import note, print_text
from hermes_jobs.interfaces.cli.param_types import ListedParam, TextParam
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.memory.events import MemoryEvent
    from hermes_jobs.kernel.log.log import RecordedEvent
    from hermes_jobs.kernel.streams.decision import Decision


@click.command("log", epilog=example("hermes-jobs memory log -n 5"))
@limit_option("writes, newest first")
@json_option
@pass_context
def log(context: CliContext, limit: int, as_json: bool) -> None:
    """List all writes: author, time and turn."""
    from hermes_jobs.features.memory.cli.format import memory_writes

    preview = context.application.memory.preview()
    writes = preview.writes[::-1][:limit]
    memory_writes(preview.memory.undone, _forgotten(context)).print_list(writes, as_json=as_json)
    if preview.num_pending and not as_json:
        edits = pluralize(preview.num_pending, "edit")
        note(f"{edits} of the files: the next turn, or the next command that changes the memory, records it.")


@click.command("undo", epilog=example("hermes-jobs memory log", "hermes-jobs memory undo 7"))
@click.argument("number", metavar="N", type=ListedParam("hermes-jobs memory log"))
@json_option
@pass_context
def undo(context: CliContext, number: int, as_json: bool) -> None:
    """Undo write N of `memory log`.

    The undo is a new write, which can be undone, too.
    """
    from hermes_jobs.features.memory.cli.format import removal_note
    from hermes_jobs.features.memory.rules.provenance import Undo
    from hermes_jobs.kernel.streams.streams import combine

    application = context.application
    application.memory.sync()
    writes = application.memory.writes()
    if number > len(writes):
        raise Rejected(
            f"There is no write {number}.",
            kind="usage",
            hint=f"`hermes-jobs memory log` lists 1 to {len(writes)}." if writes else "There is none yet.",
        )
    forgotten = _forgotten(context).get(number)
    if forgotten is not None:
        raise Rejected(
            f"Write {number} cannot be undone: {removal_note(forgotten)}.",
            kind="memory_forgotten",
            hint="Add an entry: hermes-jobs memory add TEXT",
        )
    event = writes[number - 1].event
    changes = [Undo(number, event), *_trials(application, number, event)]
    note(application.memory.change(combine(changes, all_or_none=True), "memory undo").answer.strip())
    print_changed(context, as_json=as_json)


def _trials(application: Application, number: int, event: MemoryEvent) -> Sequence[Decision]:
    """The verification results of undoing that write, if a review wrote it."""
    from hermes_jobs.features.replay.cli.verifications import undone_elsewhere

    is_tried = event.evidence is not None and getattr(event, "provisional", False)
    review = event.evidence.session if event.evidence is not None and is_tried else ""
    return undone_elsewhere(application, review, "memory", str(number))


@click.command("why", epilog=example('hermes-jobs memory why "metric units"'))
@click.argument("text", type=TextParam())
@limit_option("entries", default=5)
@json_option
@pass_context
def why(context: CliContext, text: str, limit: int, as_json: bool) -> None:
    """Show where an entry came from.

    The session, the turn, and your message there.
    """
    from hermes_jobs.features.memory.cli.format import Provenance, entries_with

    preview = context.application.memory.preview()
    now, writes, forgotten = preview.memory, preview.writes, _forgotten(context)
    entries = entries_with(text, now, writes, forgotten)[:limit]
    evidences = Provenance(context.application, writes, forgotten)
    print_result(
        lambda: [evidences.as_object(entry, now) for entry in entries],
        lambda: print_text("\n\n".join(evidences.as_text(entry, now) for entry in entries)),
        as_json=as_json,
    )


@click.command(
    "at", epilog=example("hermes-jobs memory at yesterday", 'hermes-jobs memory at "2026-11-01 12:00"')
)
@click.argument("date")
@json_option
@pass_context
def at(context: CliContext, date: str, as_json: bool) -> None:
    """Show the memory as it was at a time, or at the end of a day."""
    from hermes_jobs.features.memory.cli.format import moment, removal_note
    from hermes_jobs.features.memory.rules.entries import Recorded, entries_with_history, placed
    from hermes_jobs.features.memory.rules.memory import Memory, fold

    until = moment(date)
    past = [write for write in context.application.memory.preview().writes if write.at <= until]
    events = [write.event for write in past]
    forgotten = [recorded for version, recorded in _forgotten(context).items() if version <= len(events)]
    if forgotten:
        writes = pluralize(len(forgotten), "write")
        note(f"Of {writes} up to then the text is not known any more: {removal_note(forgotten[-1])}.")
    then = fold(Memory(), events)
    entries = entries_with_history(
        then, (Recorded(previous.version, previous.event, previous.at) for previous in past)
    )
    places = placed(entries, context.application.memory_limits, allowed=then.allowed)
    print_contents(context, places, None, as_json=as_json)


def _forgotten(context: CliContext) -> Mapping[int, RecordedEvent]:
    """The writes without text, and the removal of each."""
    from hermes_jobs.features.forgetting.erase import Forgetter, forgotten_in
    from hermes_jobs.features.memory.rules.memory import STREAM

    return forgotten_in(Forgetter(context.application).past(), STREAM)
