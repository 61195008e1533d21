"""`hermes-jobs schedule pause`, `resume`, `remove` and `run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_jobs.features.schedules.cli.format import due_time
from hermes_jobs.features.schedules.rules.commands import Pause, Remove, Resume, RunNow, ScheduleCommand
from hermes_jobs.features.schedules.rules.runs import Run
from hermes_jobs.features.schedules.rules.timing import rule_of
from hermes_jobs.features.schedules.schedule_json import schedule_json
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

if TYPE_CHECKING:
    pass


@command("pause", epilog=example("hermes-jobs schedule pause p3k9"))
def pause_schedule(context: CliContext, schedule_id: ScheduleId, as_json: Json) -> None:
    """Pause a schedule. A run in progress continues."""
    _act(context, schedule_id, Pause, "is paused", as_json=as_json)


@command("resume", epilog=example("hermes-jobs schedule resume p3k9"))
def resume_schedule(context: CliContext, schedule_id: ScheduleId, as_json: Json) -> None:
    """Resume a paused schedule. Runs that were due meanwhile are skipped."""
    _act(context, schedule_id, Resume, "continues", as_json=as_json)


@command("remove", epilog=example("hermes-jobs schedule remove p3k9"))
def remove_schedule(context: CliContext, schedule_id: ScheduleId, as_json: Json) -> None:
    """Remove a schedule. Its past runs stay in the log and in `schedule history`."""
    _act(context, schedule_id, Remove, "is removed", as_json=as_json)


@command("run", epilog=example("hermes-jobs schedule run p3k9", "hermes-jobs schedule run p3k9 --no-wait"))
@wait_options(True, "Wait for the answer (the default), or print only the turn's id.")
def run_schedule(context: CliContext, schedule_id: ScheduleId, waiting: WaitOptions) -> int:
    """Run a schedule now, and wait for its answer.

    It is a normal run: the answer is delivered, the cost counts, and `history` lists it. A paused schedule
    can be run, too. The next due time does not change.
    """
    from hermes_jobs.kernel.turns.session import stream_of
    from hermes_jobs.kernel.turns.submitted import Submitted

    application = context.application
    name = application.ids.name
    run = Run(turn=name("t"), session=name("s"))
    schedule = application.views.find_schedule(schedule_id)
    application.check(application.views.read(select_schedule, schedule).plan.model)
    now = application.clock.now()
    application.engine().change(RunNow(schedule=schedule, now=now, run=run), "schedule run")
    session = application.views.read(select_schedule, schedule).plan.session or run.session
    submitted = Submitted(turn=run.turn, stream=stream_of(session))
    if not waiting.wait:
        from hermes_jobs.interfaces.cli.detach import detach

        return detach(context, submitted, waiting.output)
    from hermes_jobs.interfaces.cli.turns.waiter import follow

    return follow(context, submitted, waiting.output, waiting.timeout)


def _act(
    context: CliContext, name_or_id: str, kind: type[Pause | Resume | Remove], action: str, *, as_json: bool
) -> None:
    application = context.application
    name = application.views.find_schedule(name_or_id)
    act: ScheduleCommand = kind(schedule=name, now=application.clock.now())
    application.engine().change(act, f"schedule {kind.__name__.lower()}")
    schedule = application.views.read(select_schedule, name)
    due = schedule.starts_at if schedule.status == "active" else None
    when = f"; next: {due_time(rule_of(schedule.plan), due)}" if due is not None else ""
    text = f"The schedule {name} ({schedule.plan.name}) {action}{when}."
    print_result(lambda: schedule_json(schedule), text, as_json=as_json)
