"""`turn.record_usage`: ends the turn."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step


class RecordUsage(msgspec.Struct, frozen=True, eq=False):
    """The command adds up the usage in the session's state; `finish` makes it for a session that then
    rests."""

    finish: Callable[[Session, Step], c.FinishTurn] = lambda session, step: c.FinishTurn(step=step.id)

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        return self.finish(session, step)
