"""`schedule.fire`: fires a schedule at a due time."""

from __future__ import annotations

import msgspec

from hermes_jobs.features.schedules.rules.runs import Fire, Run
from hermes_jobs.features.schedules.rules.schedule import Schedule
from hermes_jobs.kernel.engine.ports import Cancel, Clock, Ids
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.turns.steps import Step


class FireSchedule(msgspec.Struct, frozen=True, eq=False):
    """A `StepHandler`. Its decision does nothing if the due time was decided before."""

    clock: Clock
    ids: Ids

    def run(self, state: Schedule, step: Step, cancel: Cancel) -> Decision:
        """The decision; it is the whole effect of the step."""
        run = Run(turn=self.ids.name("t"), session=self.ids.name("s"))
        return Fire(stream=step.stream, due=step.not_before, now=self.clock.now(), run=run)
