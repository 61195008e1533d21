"""`hermes-jobs schedule list`, `show` and `history`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.features.schedules.cli.format import (
    deliveries_line,
    due_time,
    missed_count,
    note_overdue,
    print_last_answer,
    schedule_fields,
    timing_words,
    why,
)
from hermes_jobs.features.schedules.rules.timing import TimingInZone, rule_of
from hermes_jobs.features.schedules.schedule_json import NEXT, run_json, schedule_json
from hermes_jobs.features.schedules.tables import (
    RunView,
    ScheduleView,
    select_runs,
    select_schedule,
    select_schedules,
)
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import (
    Json,
    ScheduleId,
    example,
    limit_option,
)
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.table import Column
from hermes_jobs.text.figures import money

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


@command("list", epilog=example("hermes-jobs schedule list"))
@click.option("--all", "everything", is_flag=True, help="Removed ones too.")
@limit_option("schedules, the next that is due first")
def list_schedules(context: CliContext, everything: bool, limit: int, as_json: Json) -> None:
    """List schedules, next due first."""
    schedules = context.application.views.read(select_schedules, removed=everything)[:limit]
    SCHEDULES.print_list(schedules, as_json=as_json)
    if not as_json:
        note_overdue(context.application, schedules)


@command("show", epilog=example("hermes-jobs schedule show p3k9"))
@limit_option("runs ahead", NEXT)
def show_schedule(context: CliContext, schedule_id: ScheduleId, limit: int, as_json: Json) -> None:
    """Show a schedule: its task, timing, last result and cost."""
    views = context.application.views
    schedule = views.read(select_schedule, views.find_schedule(schedule_id, removed=True))
    SCHEDULES._replace(
        to_json=lambda item: schedule_json(item, limit),
        fields=lambda item: schedule_fields(context, item, limit),
    ).print_one(schedule, as_json=as_json, details=lambda: print_last_answer(context, schedule))
    if not as_json:
        note_overdue(context.application, [schedule])


def find_schedule(application: Application, name: str) -> str:
    """The id of that schedule, also of a removed one. Raises `Rejected`."""
    return application.views.find_schedule(name, removed=True)


@command("history", epilog=example("hermes-jobs schedule history p3k9 -n 5"))
@limit_option("runs and misses, newest first")
def show_history(context: CliContext, schedule_id: ScheduleId, limit: int, as_json: Json) -> None:
    """Show a schedule's past due times: each run with its result and deliveries, and each missed run."""
    views = context.application.views
    schedule = views.read(select_schedule, views.find_schedule(schedule_id, removed=True))
    _runs(rule_of(schedule.plan)).print_list(
        views.read(select_runs, schedule.id, limit=limit), as_json=as_json
    )


def _next(schedule: ScheduleView) -> str:
    start = schedule.starts_at if schedule.status == "active" else None
    return "" if start is None else due_time(rule_of(schedule.plan), start)


def _last(schedule: ScheduleView) -> str:
    last = schedule.last
    return "" if last is None else f"{last.outcome} {due_time(rule_of(schedule.plan), last.due)}"


SCHEDULES: Resource[ScheduleView] = Resource(
    (
        Column("SCHEDULE", lambda schedule: schedule.id),
        Column("STATUS", lambda schedule: "running" if schedule.running else schedule.status),
        Column("NEXT", _next),
        Column("NAME", lambda schedule: schedule.plan.name, is_main=True),
        Column("WHEN", lambda schedule: timing_words(schedule.plan), rank=1),
        Column("LAST", _last, rank=2),
        Column("DELIVERY", lambda schedule: _delivery_status(schedule.last), rank=3),
        Column(
            "COST",
            lambda schedule: money(schedule.totals.cost_usd, schedule.totals.known_cost_usd),
            rank=4,
            right=True,
        ),
    ),
    'No schedules. `hermes-jobs schedule add "Check my mail every weekday at 9"` adds one.',
    schedule_json,
)


def _delivery_status(run: RunView | None) -> str:
    deliveries = run.deliveries if run is not None else ()
    return ", ".join(
        dict.fromkeys("failed" if delivery.has_failed else delivery.status for delivery in deliveries)
    )


def _runs(rule: TimingInZone) -> Resource[RunView]:
    return Resource(
        (
            Column("DUE", lambda run: due_time(rule, run.due)),
            Column("RESULT", lambda run: f"missed {missed_count(run)}" if run.count > 1 else run.outcome),
            Column("BY", lambda run: run.by if run.turn is not None else "", rank=3),
            Column("TURN", lambda run: run.turn or ""),
            Column(
                "COST", lambda run: money(run.cost_usd) if run.turn is not None else "", rank=2, right=True
            ),
            Column("DELIVERY", deliveries_line, rank=1),
            Column("WHY", why, is_main=True),
        ),
        "It has not run yet.",
        lambda run: run_json(rule, run),
    )
