"""`hermes-jobs turns show`: a turn with its steps, its request to the model, or its page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.features.usage.tables.estimates import select_estimates
from hermes_jobs.features.usage.tables.usage import select_unknown_costs
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.model_format import model_label, tokens_label
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.options import (
    Json,
    TurnId,
    example,
    exclude,
    limit_option,
    newest,
)
from hermes_jobs.interfaces.cli.output import note, one_line, print_fields, print_text
from hermes_jobs.interfaces.cli.output_file import html_option, write_page
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.table import print_table
from hermes_jobs.interfaces.cli.turns.calls import outputs_of, print_calls
from hermes_jobs.interfaces.cli.turns.delivered_files import delivered_lines, save_files
from hermes_jobs.interfaces.cli.turns.failed_calls import quota_commands, stop_lines, wait_commands
from hermes_jobs.interfaces.cli.turns.marks import rating_label
from hermes_jobs.interfaces.cli.turns.progress import call_summary
from hermes_jobs.kernel.turns.stops import STOPPED
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.kernel.views.attached import attachments_json, attachments_of
from hermes_jobs.kernel.views.models import StepView, TurnView
from hermes_jobs.kernel.views.turn_json import as_object, detailed_turn_json, milliseconds, references_of
from hermes_jobs.text.figures import duration, money, pluralize, unknown_costs
from hermes_jobs.text.moments import iso

if TYPE_CHECKING:
    from hermes_jobs.features.usage.tables.estimates import Estimate
    from hermes_jobs.kernel.events.recorded import RecordedEvent
    from hermes_jobs.kernel.views.timeline import Timeline
    from hermes_jobs.kernel.views.tree import Tree

MAX_ARGUMENT_CHARS = 200  # characters of a call's arguments in a step


@command(
    "show",
    epilog=example(
        "hermes-jobs turns show last",
        "hermes-jobs turns show t3k9-2 --prompt | less",
        "hermes-jobs turns show t3k9 --html turn.html",
        "hermes-jobs turns show last --save ~/Downloads",
    ),
)
@click.option("--full", is_flag=True, help="Print tool outputs in full.")
@click.option(
    "--prompt",
    is_flag=True,
    help="Print what was sent with the last model call, or with the call whose id is given.",
)
@html_option
@click.option(
    "--save",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Save the files that it hands over to FOLDER.",
)
@limit_option("steps, the newest", default=None)
def show_turn(  # noqa: PLR0913 - one argument a flag
    context: CliContext,
    *,
    turn_id: TurnId,
    full: bool,
    prompt: bool,
    html: Path | None,
    save: Path | None,
    limit: int | None,
    as_json: Json,
) -> None:
    """Show a turn: its timeline, calls, outputs, answer and cost."""
    from msgspec.structs import replace

    exclude({"--html": html, "--json": as_json})
    exclude({"--html": html, "--prompt": prompt}, ": the page has the prompt, too")
    exclude({"--save": save, "--html": html, "--prompt": prompt})
    turn = context.find_turn(turn_id)
    if save is not None:
        _save(context, turn, save, as_json=as_json)
        return
    if html is not None:
        _write_page(context, turn, html)
        return
    if prompt:
        _print_prompt(context, turn, turn_id, as_json=as_json)
        return
    turn = replace(turn, steps=newest(turn.steps, limit))
    print_result(
        lambda: _json(context, turn),
        lambda: _print_turn(context, turn, limit, full=full),
        as_json=as_json,
    )


def _save(context: CliContext, turn: TurnView, folder: Path, *, as_json: bool) -> None:
    """Save the turn's files, and print their paths."""
    if not turn.files:
        raise Rejected(f"Turn {turn.id} hands over no file.", kind="unknown_file")
    saved = tuple(save_files(turn.files, folder, context.application.attached_content))
    paths = [str(path) for path in saved]
    print_result(lambda: paths, lambda: print_text("\n".join(paths)), as_json=as_json)


def _json(context: CliContext, turn: TurnView) -> object:
    """The turn with its steps, with what is attached, and with its tree if it has sub-agents."""
    from hermes_jobs.kernel.views.turn_events import events_of
    from hermes_jobs.kernel.views.turn_json import tree_json

    below = context.application.views.tree_below(turn.id)
    result = detailed_turn_json(turn)
    attached = attachments_json(turn.id, events_of(context.application.log, turn))
    more = {"attachments": attached} if attached else {}
    if not below.children:
        return {**as_object(result), **more} if more else result
    return {**as_object(result), **more, "children": tree_json(below).children}


def _print_prompt(context: CliContext, turn: TurnView, step: str, *, as_json: bool) -> None:
    from hermes_jobs.interfaces.cli.turns.prompt import find_recall, find_request, print_request, request_json
    from hermes_jobs.kernel.views.turn_events import events_of

    events = events_of(context.application.log, turn)
    sent = find_request(context.application, turn, events, step if step.startswith(f"{turn.id}-") else "")
    recall = find_recall(turn, events)
    print_result(
        lambda: request_json(sent, turn.id, recall), lambda: print_request(sent, recall), as_json=as_json
    )


def _elapsed(turn: TurnView, now: float) -> str:
    """The duration from its submission or resumption to its end, or to now."""
    until, suffix = (turn.ended_at, "") if turn.ended_at else (iso(now), " so far")
    return f"{duration(milliseconds(turn.began_waiting_at, until) / 1000)}{suffix}"


def _state(turn: TurnView) -> str:
    """The status, with the result, and the end of its wait."""
    status = turn.status_word
    for text in (turn.into and f"into {turn.into}", turn.cancelled_by and f"by {turn.cancelled_by}"):
        status += f" {text}" if text else ""
    if turn.waits_until is not None:
        what = "" if turn.waits_for else f" for the quota of {turn.model}"
        status += f"{what} until {format_time(turn.waits_until)}"
    return status


def _fields(
    context: CliContext, turn: TurnView, events: Sequence[RecordedEvent]
) -> Sequence[tuple[str, str]]:
    views = context.application.views
    return [
        ("Turn", turn.id),
        ("Session", turn.session),
        ("Sub-agent of", _parents(turn)),
        ("Status", _state(turn)),
        ("Waits", turn.waits_for),
        ("Stopped by", turn.stopped_by or ""),
        ("Model", f"{turn.model} ({model_label(context.settings, turn.model)})" if turn.model else ""),
        ("Ensemble", _ensemble(turn)),
        ("Submitted", format_time(turn.submitted_at, seconds=True)),
        ("Ended", format_time(turn.ended_at, seconds=True)),
        ("Took", _elapsed(turn, context.application.clock.now())),
        ("Tokens", tokens_label(turn.totals.usage)),
        ("Cost", money(turn.totals.cost_usd, turn.totals.known_cost_usd)),
        ("Not in it", unknown_costs(views.read(select_unknown_costs, turns=[turn.id]))),
        ("Besides", _about(views.read(select_estimates, turn=turn.id))),
        ("Rated", rating_label(turn)),
        ("Labels", ", ".join(turn.labels)),
        ("Text", turn.text if len(turn.text) <= 1000 else turn.text[:1000] + "…"),
        ("With", ", ".join(_attached(turn, events))),
    ]


def _attached(turn: TurnView, events: Sequence[RecordedEvent]) -> Iterator[str]:
    """What came with its text."""
    return (printable(item.about) for call, item in attachments_of(turn.id, events) if not call)


def _print_turn(context: CliContext, turn: TurnView, limit: int | None, *, full: bool) -> None:
    timeline, events = _timeline(context, turn)
    print_fields(_fields(context, turn, events))
    below = context.application.views.tree_below(turn.id)
    if below.children:
        from hermes_jobs.interfaces.cli.turns.tree import print_tree

        click.echo()
        print_tree(below)
    _print_timeline(timeline, limit)
    is_folded = False
    if turn.steps:
        click.echo()
        _print_steps(turn.steps)
        is_folded = print_calls(turn.steps, outputs_of(events), is_whole=full)
    _print_end(turn, below)
    _print_deliveries(context, turn)
    if is_folded:
        click.echo(err=True)
        note(f"Outputs are folded; whole: hermes-jobs turns show {turn.id} --full")


def _ensemble(turn: TurnView) -> str:
    """The turn's ensemble with its members' outcomes; empty if it has none."""
    members = [
        reference.model if reference.ok else f"{reference.model} left out"
        for reference in references_of(turn)
    ]
    return f"{turn.ensemble}: {', '.join(members)}, then {turn.model}" if turn.ensemble else ""


def _parents(turn: TurnView) -> str:
    """The parent turn of a sub-agent's, and the root turn if that is another; else empty."""
    place = turn.place
    if place is None:
        return ""
    role = f", as {place.role}" if place.role else ""
    root = "" if place.root_turn == place.parent_turn else f", below turn {place.root_turn}"
    return f"turn {place.parent_turn}{root}{role}"


def _print_end(turn: TurnView, below: Tree) -> None:
    """Print its end, or the questions that it and its sub-agents wait for."""
    if turn.error is not None:
        click.echo()
        print_fields([("Failed", f"{turn.error.kind}: {turn.error.message}"), ("Hint", turn.error.hint)])
    if turn.answer is not None:
        click.echo()
        print_text(turn.answer)
    for line in delivered_lines(turn.id, turn.files):
        note(line)
    if turn.status_word == STOPPED and turn.stopped_by is not None:
        click.echo()
        for line in stop_lines(turn.stopped_by, turn.id):
            note(line)
    if turn.waits_until is not None:
        click.echo()
        note("It continues automatically.")
        for line in wait_commands(turn.id) if turn.waits_for else quota_commands(turn.id):
            note(line)
    elif any(tree.waiting for tree in below.walk()):
        from hermes_jobs.interfaces.cli.turns.tree import note_waiting

        click.echo()
        note_waiting(below)


def _print_timeline(timeline: Timeline, limit: int | None) -> None:
    from hermes_jobs.interfaces.cli.turns.timeline_format import print_timeline

    click.echo()
    print_timeline(timeline, limit)


def _timeline(context: CliContext, turn: TurnView) -> tuple[Timeline, Sequence[RecordedEvent]]:
    """The turn's current timeline, with its events."""
    from hermes_jobs.kernel.views.timeline import timeline
    from hermes_jobs.kernel.views.turn_events import events_of

    application = context.application
    events = events_of(application.log, turn)
    return timeline(turn.id, events, application.clock.now()), events


def _write_page(context: CliContext, turn: TurnView, file: Path) -> None:
    from contextlib import suppress

    from hermes_jobs.interfaces.cli.turns.prompt import find_request
    from hermes_jobs.interfaces.html.shown_files import shown_files
    from hermes_jobs.interfaces.html.turn_page import turn_page

    timeline, events = _timeline(context, turn)
    unknown = context.application.views.read(select_unknown_costs, turns=[turn.id])
    sent = None
    with suppress(Rejected):  # nothing was sent yet
        sent = find_request(context.application, turn, events)
    write_page(
        file,
        turn_page(
            turn,
            timeline,
            events,
            context.redact,
            context.settings.zone,
            unknown,
            sent,
            context.application.views.tree_below(turn.id),
            shown_files(turn.id, events, context.application.attached_content),
        ),
    )


def _print_deliveries(context: CliContext, turn: TurnView) -> None:
    from hermes_jobs.features.deliveries import api
    from hermes_jobs.features.deliveries.cli import delivery_status

    deliveries = api.deliveries(context.application, turn=turn.into or turn.id)
    if deliveries:
        click.echo()
        print_fields(
            [(f"To {delivery.target}", delivery_status(delivery)) for delivery in reversed(deliveries)]
        )


def _about(estimates: Sequence[Estimate]) -> str:
    """Unreported usage, in a line."""
    if not estimates:
        return ""
    sent, output = (
        sum(getattr(estimate, f"{way}_tokens") for estimate in estimates) for way in ("input", "output")
    )
    calls = pluralize(len(estimates), "call")
    return f"about {sent} in, {output} out for {calls} that nobody reported"


def _print_steps(steps: Sequence[StepView]) -> None:
    """Print a row per attempt, with a column for the worker if there were several."""
    workers = {step.worker for step in steps if step.worker}
    headers = ("STEP", "OUTCOME", "TRY", "TOOK", *("WORKER",) * (len(workers) > 1), "WHAT")
    rows = [_step_row(step, with_worker=len(workers) > 1) for step in steps]
    print_table(headers, rows, ranks=("TRY", "WORKER"))
    if len(workers) == 1:
        worker = workers.pop()
        by = f"a command, without a worker ({worker})" if worker.startswith("inline-") else worker
        click.echo(f"All by {by}.")


def _step_row(step: StepView, *, with_worker: bool) -> tuple[str, ...]:
    took = ""
    if step.started_at and step.ended_at:
        took = duration(milliseconds(step.started_at, step.ended_at) / 1000)
    what = " ".join(
        part
        for part in (call_summary(step.name, step.arguments, MAX_ARGUMENT_CHARS), step.finish_reason)
        if part
    )
    text = f"{what} — {step.message}" if step.message else what
    worker = (step.worker or "",) * with_worker
    return (step.id, step.outcome, str(step.attempt), took, *worker, one_line(text))
