"""`turn.record_usage`: ends the turn."""

from __future__ import annotations

from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step


class RecordUsage:
    """Has no dependencies: the command adds up the usage in the session's state."""

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        return c.FinishTurn(step=step.id)
