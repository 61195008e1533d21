"""`hermes-jobs schedule list`, `show` and `history`."""

from __future__ import annotations

from functools import partial

import click

from hermes_jobs.domain.schedule.timing import TimingInZone, rule_of
from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import example, json_option, limit_option, schedule_argument
from hermes_jobs.interfaces.cli.output import cut, format_cost, one_line, print_json
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.schedule_format import (
    NEXT,
    WHY,
    deliveries_line,
    missed_count,
    print_schedule,
    run_json,
    schedule_json,
    short_moment,
)
from hermes_jobs.views.schedule_queries import RunView, ScheduleView

NAME = 30  # columns of a name in the list, so that 80 show which schedule a row is


@click.command("list", epilog=example("hermes-jobs schedule list"))
@click.option("--all", "everything", is_flag=True, help="Removed ones too.")
@limit_option("schedules, the next that is due first")
@json_option
@pass_context
def list_schedules(context: CliContext, everything: bool, limit: int, as_json: bool) -> None:
    """List schedules, the next that is due first."""
    found = context.application.views.schedules(removed=everything)[:limit]
    SCHEDULES.print_list(found, as_json=as_json)


@click.command("show", epilog=example("hermes-jobs schedule show p3k9"))
@schedule_argument
@limit_option("runs ahead", NEXT)
@json_option
@pass_context
def show_schedule(context: CliContext, schedule_id: str, limit: int, as_json: bool) -> None:
    """Show what a schedule does and when, its last result, and what it has cost."""
    views = context.application.views
    schedule = views.schedule(views.find_schedule(schedule_id, removed=True))
    if as_json:
        print_json(schedule_json(schedule, limit))
    else:
        print_schedule(context, schedule, limit)


@click.command("history", epilog=example("hermes-jobs schedule history p3k9 -n 5"))
@schedule_argument
@limit_option("runs and misses, newest first")
@json_option
@pass_context
def show_history(context: CliContext, schedule_id: str, limit: int, as_json: bool) -> None:
    """Show what became of a schedule's due times: each run with its result and its deliveries, each miss."""
    views = context.application.views
    schedule = views.schedule(views.find_schedule(schedule_id, removed=True))
    rule = rule_of(schedule.plan)
    headers = ("DUE", "RESULT", "BY", "TURN", "COST", "DELIVERY", "WHY")
    runs = Resource(headers, partial(_run_row, rule), "It has not run yet.", partial(run_json, rule))
    runs.print_list(views.runs(schedule.id, limit=limit), as_json=as_json)


def _row(schedule: ScheduleView) -> tuple[str, ...]:
    rule = rule_of(schedule.plan)
    last = schedule.last
    next_due = schedule.next_due if schedule.status == "active" else None
    return (
        schedule.id,
        "running" if schedule.running else schedule.status,
        "" if next_due is None else short_moment(rule, next_due),
        cut(one_line(schedule.plan.name), NAME),
        f"{schedule.plan.timing}, {schedule.plan.timezone}",
        "" if last is None else f"{last.outcome} {short_moment(rule, last.due)}",
        "" if last is None else _delivery_status(last),
        format_cost(schedule.books.cost_usd),
    )


SCHEDULES = Resource(
    ("SCHEDULE", "STATUS", "NEXT", "NAME", "WHEN", "LAST", "DELIVERY", "COST"),
    _row,
    'No schedules. `hermes-jobs schedule add "Check my mail every weekday at 9"` adds one.',
    schedule_json,
)


def _delivery_status(run: RunView) -> str:
    states = ("failed" if each.has_failed else each.status for each in run.deliveries)
    return ", ".join(dict.fromkeys(states))


def _run_row(rule: TimingInZone, run: RunView) -> tuple[str, ...]:
    missed = f"missed {missed_count(run)}" if run.count > 1 else run.outcome
    return (
        short_moment(rule, run.due),
        missed,
        run.by if run.turn is not None else "",
        run.turn or "",
        format_cost(run.cost_usd) if run.turn is not None else "",
        deliveries_line(run),
        WHY.get(run.reason, run.message),
    )
