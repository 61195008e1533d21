"""`turn.record_usage`: ends the turn."""

from __future__ import annotations

from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.ports import Cancel


class RecordUsage:
    """Has no dependencies: the command adds up the usage in the session's state."""

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        return c.FinishTurn(step=step.id)
