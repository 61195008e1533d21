"""`hermes-jobs turns`: what was asked, what was done for it, and a hand on what still runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.failed_calls import quota_commands
from hermes_jobs.interfaces.cli.model_format import model_label, tokens_label
from hermes_jobs.interfaces.cli.options import (
    example,
    json_option,
    limit_option,
    newest,
    session_option,
    turn_argument,
)
from hermes_jobs.interfaces.cli.output import (
    format_cost,
    format_short_time,
    format_time,
    note,
    one_line,
    print_fields,
    print_json,
    print_table,
    print_text,
)
from hermes_jobs.interfaces.cli.output_file import html_option, write_page
from hermes_jobs.interfaces.cli.progress import call_details, call_summary
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.turn_actions import ACTS
from hermes_jobs.interfaces.html.figures import duration
from hermes_jobs.text.plural import pluralize
from hermes_jobs.views.models import StepView, TurnStatus, TurnView
from hermes_jobs.views.turn_json import detailed_turn_json, milliseconds, turn_json

if TYPE_CHECKING:
    from hermes_jobs.eventlog.log import RecordedEvent
    from hermes_jobs.views.estimates import Estimate
    from hermes_jobs.views.timeline import Timeline

WHAT = 200  # characters of a call's arguments that a step is shown with


@click.group(epilog=example("hermes-jobs turns list --status failed", "hermes-jobs turns show t3k9"))
def turns() -> None:
    """List, show and follow turns; cancel, retry, approve, deny.

    ID may be shortened to a unique prefix.
    """


for act in ACTS:
    turns.add_command(act)


@turns.command("list", epilog=example("hermes-jobs turns list -n 5 --status running"))
@session_option("Only those of this session.")
@click.option("--status", type=click.Choice(get_args(TurnStatus)), help="Only those in this state.")
@limit_option("turns, newest first")
@json_option
@pass_context
def list_turns(
    context: CliContext, session: str | None, status: TurnStatus | None, limit: int, as_json: bool
) -> None:
    """List turns, newest first."""
    views = context.application.views
    found = views.turns(session=views.find_session(session) if session else None, status=status, limit=limit)
    TURNS.print_list(found, as_json=as_json)


@turns.command("show", epilog=example("hermes-jobs turns show t3k9 --html turn.html"))
@turn_argument
@html_option
@limit_option("steps, the newest", default=None)
@json_option
@pass_context
def show_turn(context: CliContext, turn_id: str, html: Path | None, limit: int | None, as_json: bool) -> None:
    """Show a turn: what it waited for, each call, what they cost."""
    from msgspec.structs import replace

    if html is not None and as_json:
        raise click.UsageError("--html and --json exclude each other.")
    turn = _find(context, turn_id)
    if html is not None:
        _write_page(context, turn, html)
        return
    turn = replace(turn, steps=newest(turn.steps, limit))
    if as_json:
        print_json(detailed_turn_json(turn))
    else:
        _print_turn(context, turn, limit)
        _print_deliveries(context, turn)


def _find(context: CliContext, given: str) -> TurnView:
    views = context.application.views
    return views.turn(views.find_turn(given))


def _listed(turn: TurnView) -> dict[str, object]:
    """The turn's result object, with what a list is read for besides."""
    from msgspec import to_builtins

    extra = ("text", "source", "submitted_at", "begun_at", "ended_at")
    result: dict[str, object] = to_builtins(turn_json(turn))
    return result | {name: getattr(turn, name) for name in extra}


def _row(turn: TurnView) -> tuple[str, ...]:
    when = format_short_time(turn.submitted_at)
    stands = (
        turn.status
        if turn.waits_until is None
        else f"{turn.status} until {format_short_time(turn.waits_until)}"
    )
    return (turn.id, turn.session, stands, when, format_cost(turn.books.cost_usd), turn.text)


TURNS = Resource(("TURN", "SESSION", "STATUS", "WHEN", "COST", "TEXT"), _row, "No turns.", _listed)


def _print_turn(context: CliContext, turn: TurnView, limit: int | None) -> None:
    estimates = context.application.views.estimates(turn=turn.id)
    stands: str = turn.status
    for told in (turn.into and f"into {turn.into}", turn.cancelled_by and f"by {turn.cancelled_by}"):
        stands += f" {told}" if told else ""
    if turn.waits_until is not None:
        stands += f" for the quota of {turn.model} until {format_time(turn.waits_until)}"
    print_fields(
        [
            ("Turn", turn.id),
            ("Session", turn.session),
            ("Status", stands),
            ("Stopped by", turn.stopped_by or ""),
            ("Model", f"{turn.model} ({model_label(context.settings, turn.model)})" if turn.model else ""),
            ("Submitted", format_time(turn.submitted_at)),
            ("Ended", format_time(turn.ended_at)),
            ("Took", duration(milliseconds(turn.began_waiting_at, turn.ended_at or turn.seen_at) / 1000)),
            ("Tokens", tokens_label(turn.books.usage)),
            ("Cost", format_cost(turn.books.cost_usd)),
            ("Besides", _about(estimates)),
            ("Text", turn.text if len(turn.text) <= 1000 else turn.text[:1000] + "…"),
        ]
    )
    _print_timeline(context, turn, limit)
    if turn.steps:
        click.echo()
        _print_steps(turn.steps)
    if turn.error is not None:
        click.echo()
        print_fields([("Failed", f"{turn.error.kind}: {turn.error.message}"), ("Hint", turn.error.hint)])
    if turn.answer is not None:
        click.echo()
        print_text(turn.answer)
    if turn.waits_until is not None:
        click.echo()
        note("It goes on by itself.")
        for line in quota_commands(turn.id):
            note(line)
    elif turn.status == "waiting":
        for step in turn.steps:
            if step.outcome == "waiting":
                note(f"{step.id}: {call_details(step.name, step.arguments)}")
        note(f"It waits for you: `hermes-jobs turns approve {turn.id}`, or `deny`.")


def _print_timeline(context: CliContext, turn: TurnView, limit: int | None) -> None:
    from hermes_jobs.interfaces.cli.timeline_format import print_timeline

    click.echo()
    print_timeline(_timeline(context, turn)[0], limit)


def _timeline(context: CliContext, turn: TurnView) -> tuple[Timeline, Sequence[RecordedEvent]]:
    """The turn's timeline as it is now, with the events that it was made from."""
    from hermes_jobs.views.timeline import timeline
    from hermes_jobs.views.turn_events import events_of

    application = context.application
    events = events_of(application.log, turn)
    return timeline(turn.id, events, application.clock.now()), events


def _write_page(context: CliContext, turn: TurnView, file: Path) -> None:
    from hermes_jobs.interfaces.html.turn_page import turn_page

    found, events = _timeline(context, turn)
    write_page(file, turn_page(turn, found, events, context.redact, context.settings.zone))


def _print_deliveries(context: CliContext, turn: TurnView) -> None:
    from hermes_jobs.interfaces.cli.inbox import delivery_status

    found = context.application.views.deliveries(turn=turn.into or turn.id)
    if found:
        click.echo()
        print_fields([(f"To {each.target}", delivery_status(each)) for each in reversed(found)])


def _about(estimates: Sequence[Estimate]) -> str:
    """What was never reported, in a line."""
    if not estimates:
        return ""
    sent, said = (sum(getattr(each, f"{way}_tokens") for each in estimates) for way in ("input", "output"))
    calls = pluralize(len(estimates), "call")
    return f"about {sent} in, {said} out for {calls} that nobody reported"


def _print_steps(steps: Sequence[StepView]) -> None:
    """A row an attempt; the worker has a column where there were several."""
    workers = {step.worker for step in steps if step.worker}
    headers = ("STEP", "OUTCOME", "TRY", "TOOK", *("WORKER",) * (len(workers) > 1), "WHAT")
    print_table(headers, [_step_row(step, with_worker=len(workers) > 1) for step in steps])
    if len(workers) == 1:
        click.echo(f"All by {workers.pop()}.")


def _step_row(step: StepView, *, with_worker: bool) -> tuple[str, ...]:
    took = ""
    if step.started_at and step.ended_at:
        took = duration(milliseconds(step.started_at, step.ended_at) / 1000)
    what = " ".join(
        part for part in (call_summary(step.name, step.arguments, WHAT), step.finish_reason) if part
    )
    told = f"{what} — {step.message}" if step.message else what
    worker = (step.worker or "",) * with_worker
    return (step.id, step.outcome, str(step.attempt), took, *worker, one_line(told))
