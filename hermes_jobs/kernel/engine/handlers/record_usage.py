"""`turn.record_usage`: ends the turn."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import Cancel, Speak
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.answer_schema import final_answer
from hermes_jobs.kernel.turns.session import Session, running_turn
from hermes_jobs.kernel.turns.steps import Step


class RecordUsage(msgspec.Struct, frozen=True, eq=False):
    """The command adds up the usage in the session's state; `finish` makes it for a session that then
    rests. `speak` says the answer."""

    finish: Callable[[Session, Step], c.FinishTurn] = lambda session, step: c.FinishTurn(step=step.id)
    speak: Speak | None = None

    def is_brief(self, session: Session) -> bool:
        """See `BriefStepHandler`: only answers that are delivered are spoken, which calls a model."""
        return self.speak is None or not running_turn(session).deliver

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        turn, finish = running_turn(session), self.finish(session, step)
        spoken = self.speak(turn, final_answer(turn), step.id, cancel) if self.speak is not None else ()
        return replace(finish, spoken=tuple(spoken))
