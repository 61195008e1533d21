"""`hermes-jobs schedule pause`, `resume`, `remove` and `run`."""

from __future__ import annotations

from hermes_jobs.client.schedules import Schedules
from hermes_jobs.features.schedules.cli.format import due_time
from hermes_jobs.features.schedules.rules.timing import rule_of
from hermes_jobs.features.schedules.schedule_json import ScheduleJson
from hermes_jobs.features.schedules.tables import select_schedule
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import (
    Json,
    ScheduleId,
    WaitOptions,
    example,
    wait_options,
)
from hermes_jobs.interfaces.cli.resource import print_result


@command("pause", epilog=example("hermes-jobs schedule pause p3k9"))
def pause_schedule(context: CliContext, schedule_id: ScheduleId, as_json: Json) -> None:
    """Pause a schedule. A run in progress continues."""
    _print_changed(context, Schedules(context.application).pause(schedule_id), "is paused", as_json=as_json)


@command("resume", epilog=example("hermes-jobs schedule resume p3k9"))
def resume_schedule(context: CliContext, schedule_id: ScheduleId, as_json: Json) -> None:
    """Resume a paused schedule. Runs that were due meanwhile are skipped."""
    _print_changed(context, Schedules(context.application).resume(schedule_id), "continues", as_json=as_json)


@command("remove", epilog=example("hermes-jobs schedule remove p3k9"))
def remove_schedule(context: CliContext, schedule_id: ScheduleId, as_json: Json) -> None:
    """Remove a schedule. Its past runs stay in the log and in `schedule history`."""
    _print_changed(context, Schedules(context.application).remove(schedule_id), "is removed", as_json=as_json)


@command("run", epilog=example("hermes-jobs schedule run p3k9", "hermes-jobs schedule run p3k9 --no-wait"))
@wait_options(True, "Wait for the answer (the default), or print only the turn's id.")
def run_schedule(context: CliContext, schedule_id: ScheduleId, waiting: WaitOptions) -> int:
    """Run a schedule now, and wait for its answer.

    It is a normal run: the answer is delivered, the cost counts, and `history` lists it. A paused schedule
    can be run, too. The next due time does not change.
    """
    from hermes_jobs.interfaces.cli.detach import follow_or_detach

    return follow_or_detach(context, Schedules(context.application).run(schedule_id), waiting)


def _print_changed(context: CliContext, changed: ScheduleJson, action: str, *, as_json: bool) -> None:
    name = changed.schedule
    schedule = context.application.views.read(select_schedule, name)
    due = schedule.starts_at if schedule.status == "active" else None
    when = f"; next: {due_time(rule_of(schedule.plan), due)}" if due is not None else ""
    text = f"The schedule {name} ({schedule.plan.name}) {action}{when}."
    print_result(lambda: changed, text, as_json=as_json)
