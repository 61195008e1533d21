"""The schedules of a home, for programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hermes_jobs.features.schedules.rules.commands import USER, Pause, Remove, Resume, RunNow
from hermes_jobs.features.schedules.rules.runs import Run
from hermes_jobs.features.schedules.rules.timing import rule_of
from hermes_jobs.features.schedules.schedule_json import RunJson, ScheduleJson, run_json, schedule_json
from hermes_jobs.features.schedules.tables import select_runs, select_schedule, select_schedules
from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.kernel.turns.submitted import Submitted

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


class Schedules:
    """The schedules of a home. `schedule` is an id, a name, the unique beginning of either, or `last`."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def list(self, *, removed: bool = False) -> tuple[ScheduleJson, ...]:
        """The schedules, next due first."""
        found = self._application.views.read(select_schedules, removed=removed)
        return tuple(map(schedule_json, found))

    def get(self, schedule: str) -> ScheduleJson:
        """A schedule. Raises `Rejected`."""
        views = self._application.views
        return schedule_json(views.read(select_schedule, views.find_schedule(schedule, removed=True)))

    def history(self, schedule: str, *, limit: int = 20) -> tuple[RunJson, ...]:
        """Its past due times, newest first."""
        views = self._application.views
        view = views.read(select_schedule, views.find_schedule(schedule, removed=True))
        return tuple(
            run_json(rule_of(view.plan), run) for run in views.read(select_runs, view.id, limit=limit)
        )

    def add(
        self,
        when: str,
        task: str,
        *,
        name: str | None = None,
        timezone: str | None = None,
        deliver: tuple[str, ...] = (),
        workdir: str | Path | None = None,
        by: str = USER,
    ) -> ScheduleJson:
        """Add a prompt that is sent once or repeatedly: `when` is `every weekday at 9`, `in 2 hours`, or five
        fields of cron. `by` is who asks for it. Raises `Rejected` where that is not understood."""
        from hermes_jobs.errors import Rejected
        from hermes_jobs.features.schedules.tools import schedule_tool
        from hermes_jobs.tools.tool import ToolFailed

        application = self._application
        tool = schedule_tool(application)
        folder = "" if workdir is None else str(Path(workdir).expanduser().absolute())
        caller = ToolContext(session="", turn=by, call="", workdir=folder, attended=False, deliver=deliver)
        before = {view.id for view in application.views.read(select_schedules, removed=True)}
        try:
            outcome = tool.schedule(caller, "add", when, task, name, timezone)
        except ToolFailed as error:
            raise Rejected(str(error), kind="usage") from error
        assert outcome.change is not None, outcome
        application.engine().change(outcome.change, "schedule add")
        added = [
            view for view in application.views.read(select_schedules, removed=True) if view.id not in before
        ]
        return schedule_json(added[-1])

    def pause(self, schedule: str, *, by: str = USER) -> ScheduleJson:
        """Pause it; a run in progress continues."""
        return self._change(schedule, Pause, by)

    def resume(self, schedule: str, *, by: str = USER) -> ScheduleJson:
        """Resume it; runs that were due meanwhile are skipped."""
        return self._change(schedule, Resume, by)

    def remove(self, schedule: str, *, by: str = USER) -> ScheduleJson:
        """Remove it; its history stays."""
        return self._change(schedule, Remove, by)

    def run(self, schedule: str, *, by: str = USER) -> Submitted:
        """Run it now; the turn, for `Turns.wait`. The next due time does not change."""
        application, views = self._application, self._application.views
        name = views.find_schedule(schedule)
        plan = views.read(select_schedule, name).plan
        application.check(plan.model)
        run = Run(turn=application.ids.name("t"), session=application.ids.name("s"))
        now = application.clock.now()
        application.engine().change(RunNow(schedule=name, now=now, run=run, by=by), "schedule run")
        return Submitted(turn=run.turn, stream=stream_of(plan.session or run.session))

    def _change(self, schedule: str, kind: type[Pause | Resume | Remove], by: str) -> ScheduleJson:
        application = self._application
        name = application.views.find_schedule(schedule)
        change = kind(schedule=name, now=application.clock.now(), by=by)
        application.engine().change(change, f"schedule {kind.__name__.lower()}")
        return schedule_json(application.views.read(select_schedule, name))
