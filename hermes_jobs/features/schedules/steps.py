"""`schedule.fire`: fires a schedule at a due time. `schedule.check`: checks the condition of the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.features.conditions.api import ConditionCommand
from hermes_jobs.features.schedules.rules.checks import Conclude, run
from hermes_jobs.features.schedules.rules.runs import Fire, Run
from hermes_jobs.features.schedules.rules.schedule import Schedule
from hermes_jobs.kernel.engine.ports import Cancel, StepHandler
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader
from hermes_jobs.kernel.turns.steps import Step, StepKind
from hermes_jobs.system.clock import Clock
from hermes_jobs.system.ids import Ids

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


class FireSchedule(msgspec.Struct, frozen=True, eq=False):
    """A `StepHandler`. Its decision does nothing if the due time was decided before."""

    clock: Clock
    ids: Ids

    def run(self, state: Schedule, step: Step, cancel: Cancel) -> Decision:
        """The decision; it is the whole effect of the step."""
        run = Run(turn=self.ids.name("t"), session=self.ids.name("s"))
        return Fire(stream=step.stream, due=step.not_before, now=self.clock.now(), run=run)


class CheckSchedule(msgspec.Struct, frozen=True, eq=False):
    """A `StepHandler`. After a crash the command runs again: its outcome and the run are one append."""

    command: ConditionCommand

    def run(self, state: Schedule, step: Step, cancel: Cancel) -> Decision:
        """Run the command; without one, because the schedule was edited, the run begins. Raises
        `StepInterrupted`."""
        checking, plan = state.checking, state.plan
        if checking is None or plan is None:
            return lambda load: DecisionResult()
        condition = plan.condition
        if condition is None:
            return _unconditional(state.stream, checking.turn)
        checked = self.command.run(condition, state.stream, state.seen, cancel)
        return Conclude(stream=state.stream, turn=checking.turn, condition=condition, checked=checked)


def _unconditional(stream: str, turn: str) -> Decision:
    def change(load: StateLoader) -> DecisionResult:
        schedule: Schedule = load(stream)
        checking, plan = schedule.checking, schedule.plan
        if checking is None or checking.turn != turn or plan is None or plan.condition is not None:
            return DecisionResult()
        return run(schedule, checking, load)

    return change


def handlers(application: Application) -> Mapping[StepKind, StepHandler]:
    """The handler of each kind of step."""
    return {
        "schedule.fire": FireSchedule(application.clock, application.ids),
        "schedule.check": CheckSchedule(application.condition_command),
    }
