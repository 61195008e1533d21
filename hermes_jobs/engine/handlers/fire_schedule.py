"""`schedule.fire`: what becomes of a schedule's due time, with the clock and the ids that a run needs."""

from __future__ import annotations

import msgspec

from hermes_jobs.domain.decision import Decision
from hermes_jobs.domain.schedule.runs import Fire, Run
from hermes_jobs.domain.schedule.schedule import Schedule
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.ports import Cancel, Clock, Ids


class FireSchedule(msgspec.Struct, frozen=True, eq=False):
    """The job of a due time. Its change may find that somebody else has decided about it."""

    clock: Clock
    ids: Ids

    def run(self, state: Schedule, step: Step, cancel: Cancel) -> Decision:
        """Nothing is done before the change is written: it is the whole effect."""
        run = Run(turn=self.ids.name("t"), session=self.ids.name("s"))
        return Fire(stream=step.stream, due=step.not_before, now=self.clock.now(), run=run)
