"""Formats schedules and their runs for users and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from time import time
from typing import TYPE_CHECKING

import click

from hermes_jobs.features.deliveries.cli import delivery_status
from hermes_jobs.features.schedules.events import Plan
from hermes_jobs.features.schedules.rules.runs import MOST_COUNTED
from hermes_jobs.features.schedules.rules.timing import TimingInZone, rule_of
from hermes_jobs.features.schedules.schedule_json import upcoming
from hermes_jobs.features.schedules.tables import RunView, ScheduleView
from hermes_jobs.features.usage.tables.usage import select_unknown_costs
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.moments import format_time, to_local
from hermes_jobs.interfaces.cli.output import note, one_line, print_text, short_path
from hermes_jobs.text import figures
from hermes_jobs.text.figures import money
from schedules.timing import Once

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

MAX_ANSWER_CHARS = 600  # characters of the last answer

REASONS: dict[str, str] = {
    "down": "nothing was running when it was due",
    "overlap": "the previous run was still running",
    "edited": "the schedule was changed before it ran",
    "session_ended": "the session that it continues has ended",
    "condition": "its condition said no",
}
"""What a `MissedReason` means."""


def folder_of(context: CliContext, plan: Plan) -> str | None:
    """The working folder of its runs, if each has its own session; None if there is none."""
    return plan.workdir or context.settings.agent.workdir


def print_plan(plan: Plan, dues: Sequence[float], folder: str | None) -> None:
    """Print task, timing and folder on standard error, before anything is recorded."""
    rule = rule_of(plan)
    lines = [("when", timing_words(plan)), ("task", plan.text)]
    if plan.jitter:
        lines.append(("spread", f"each run starts up to {plan.jitter:g} s later"))
    lines += [("next" if index == 0 else "", due_time(rule, due)) for index, due in enumerate(dues)]
    if plan.condition is not None:
        lines.append(("if", plan.condition.command))
        if plan.condition.asked:
            lines.append(("", f"which needs your approval ({plan.condition.asked})"))
    if plan.session is not None:
        lines.append(("in", f"session {plan.session}"))
    else:
        lines.append(("folder", short_path(folder) if folder else "none"))
    lines.append(("to", ", ".join(plan.deliver) or "nobody: it stays in the session"))
    for name, value in lines:
        note(f"  {name:<8}{one_line(value)}")


def note_overdue(application: Application, schedules: Sequence[ScheduleView]) -> None:
    """Print the schedules that are overdue because no process fires them."""
    from hermes_jobs.interfaces.cli.doctor.processes import fires_schedules

    now = application.clock.now()
    overdue = [
        schedule.id
        for schedule in schedules
        if schedule.status == "active" and schedule.starts_at is not None and schedule.starts_at < now
    ]
    if overdue and not fires_schedules(application):
        note(f"Overdue: {', '.join(overdue)}. No worker is alive, so nothing fires schedules: hermes-jobs up")


def due_time(rule: TimingInZone, seconds: float) -> str:
    """A due time for users, as it is in the schedule's zone; that is named if it is not the local one."""
    at, now = (datetime.fromtimestamp(moment, rule.zone) for moment in (seconds, time()))
    text = figures.moment(at, now, seconds=bool(at.second))
    return text if to_local(at).utcoffset() == at.utcoffset() else f"{text} {at:%Z}"


def timing_words(plan: Plan) -> str:
    """The timing of a schedule, with its zone."""
    rule = rule_of(plan)
    if isinstance(rule.timing, Once):
        return f"once, {due_time(rule, rule.timing.at.timestamp())}"
    return f"{plan.timing}, {plan.timezone}"


def schedule_fields(context: CliContext, schedule: ScheduleView, count: int) -> Sequence[tuple[str, str]]:
    """The main fields of a schedule, with `count` upcoming runs."""
    plan = schedule.plan
    rule = rule_of(plan)
    ahead = [due_time(rule, due) for due in upcoming(schedule, count)]
    last = schedule.last
    return [
        ("Schedule", schedule.id),
        ("Name", plan.name),
        ("Status", _status(schedule)),
        ("Task", plan.text),
        ("When", timing_words(plan)),
        ("Jitter", f"up to {plan.jitter:g} s after each due time" if plan.jitter else ""),
        ("Next", ahead[0] if ahead else _no_next_run(schedule)),
        *(("", due) for due in ahead[1:]),
        ("Condition", "" if plan.condition is None else plan.condition.command),
        ("Session", plan.session or "a fresh one each run"),
        ("Folder", "" if plan.session else short_path(folder_of(context, plan) or "none")),
        ("Delivered to", ", ".join(plan.deliver)),
        ("If missed", plan.missed),
        ("If running", plan.overlap),
        ("Model", plan.model or ""),
        ("Toolsets", ", ".join(plan.toolsets or ())),
        ("Budget", "" if plan.budget_usd is None else f"${plan.budget_usd:g} a run"),
        ("Said", schedule.said),
        ("Added", f"{format_time(schedule.added_at)} by {schedule.added_by}"),
        ("Runs", _counts(schedule)),
        ("Cost so far", money(schedule.totals.cost_usd, schedule.totals.known_cost_usd)),
        (
            "Not in it",
            figures.unknown_costs(context.application.views.read(select_unknown_costs, schedule=schedule.id)),
        ),
        ("Last", "" if last is None else run_line(rule, last)),
        ("Delivery", "" if last is None else deliveries_line(last)),
    ]


def run_line(rule: TimingInZone, run: RunView) -> str:
    """The outcome of a due time, on one line."""
    due = due_time(rule, run.due)
    if run.outcome == "missed":
        more = f" to {due_time(rule, run.until)}, {missed_count(run)} in all" if run.until is not None else ""
        return f"missed: {due}{more} ({REASONS[run.reason]})"
    if run.outcome == "queued":
        return f"{due}: waits for the previous run"
    if run.outcome == "checking":
        return f"{due}: its condition is being checked"
    if run.reason == "condition":
        return f"{due}: {run.outcome}, {why(run)}"
    by = "" if run.by == "clock" else f", asked for by {run.by}"
    failed = f": {run.message}" if run.message else ""
    cost = "cost unknown" if run.cost_usd is None else money(run.cost_usd)
    return f"{due}: {run.outcome}{failed} (turn {run.turn}{by}, {cost})"


def why(run: RunView) -> str:
    """Why a due time had no run, or its run failed."""
    if run.reason != "condition":
        return REASONS.get(run.reason, run.message)
    said = REASONS["condition"] if run.outcome == "skipped" else "its condition failed"
    return f"{said}: {run.message}" if run.message else said


def missed_count(run: RunView) -> str:
    """The number of due times in a row."""
    return f"{run.count} or more" if run.count >= MOST_COUNTED else str(run.count)


def deliveries_line(run: RunView) -> str:
    """The deliveries of a run's answer."""
    if not run.deliveries:
        return "nothing to deliver" if run.outcome == "completed" else ""
    return "; ".join(f"{delivery.target}: {delivery_status(delivery)}" for delivery in run.deliveries)


def print_last_answer(context: CliContext, schedule: ScheduleView) -> None:
    """Print the beginning of the last run's answer."""
    turn = schedule.last.turn if schedule.last is not None else None
    answer = context.application.views.turn(turn).answer if turn is not None else None
    if answer:
        click.echo()
        more = f"… (hermes-jobs turns show {turn} has the rest)" if len(answer) > MAX_ANSWER_CHARS else ""
        print_text(answer[:MAX_ANSWER_CHARS] + more)


def _status(schedule: ScheduleView) -> str:
    parts: list[str] = [schedule.status]
    if schedule.status == "paused" and schedule.pause_reason:
        parts.append(f"paused automatically: {schedule.pause_reason}")
    if schedule.running:
        parts.append(f"running: {', '.join(schedule.running)}")
    if schedule.queued:
        parts.append(f"{len(schedule.queued)} waiting for the previous run")
    if schedule.failures and schedule.status != "paused":
        parts.append(f"{schedule.failures} failed in a row")
    return "; ".join(parts)


def _no_next_run(schedule: ScheduleView) -> str:
    return "none while it is paused" if schedule.status == "paused" else "none"


def _counts(schedule: ScheduleView) -> str:
    missed = f", {schedule.num_missed} missed" if schedule.num_missed else ""
    skipped = f", {schedule.num_skipped} skipped by its condition" if schedule.num_skipped else ""
    return f"{schedule.num_runs}{missed}{skipped}"
