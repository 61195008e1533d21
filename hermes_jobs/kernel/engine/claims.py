"""Claims: the start of an operation is appended, and its cost reserved, before its handler runs."""

from __future__ import annotations

from functools import partial
from typing import Literal

from hermes_jobs.errors import Rejected, StepLost
from hermes_jobs.kernel.engine.abnormal_outcomes import failed_step
from hermes_jobs.kernel.engine.budget_guard import BudgetGuard
from hermes_jobs.kernel.engine.command_handler import CommandHandler
from hermes_jobs.kernel.engine.ports import PaidStepHandler, SpendingApproval
from hermes_jobs.kernel.log.log import StepGuard
from hermes_jobs.kernel.streams.accounts import OverBudget
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.stops import BUDGET

StepResult = Literal[
    "done",
    "reported_error",
    "failed",
    "not_due",
    "not_yet",
    "other_worker",
    "held_up",
    "abandoned",
    "discarded",
]
"""The result of running a step. `reported_error`: it is done, and its tool says that it failed. `failed`:
for good, without an automatic retry. `not_due`: it is not due, or claimed by another worker. `other_worker`:
another live process has a secret or an address that this one lacks, and runs it. `held_up`: it waits for
budget that other calls have reserved. `abandoned`: it has no outcome, and is due again. `discarded`: its
outcome came after the claim was lost.
"""


class StepClaims:
    """Claims operations for one process."""

    def __init__(self, command_handler: CommandHandler) -> None:
        self._command_handler = command_handler

    def claim(
        self,
        session: Session,
        step: Step,
        guard: StepGuard,
        budget_guard: BudgetGuard | None,
        *,
        durable: bool,
    ) -> Session | StepResult:
        """The session after the step's start; or the result where it was not claimed. Without a budget guard
        nothing is reserved.

        `not_due`: another worker has it. `held_up`: it waits for budget that other calls have reserved.
        `failed`: no budget is left for it. Raises `LogUnavailable`.
        """
        try:
            terms = budget_guard.approve(session, step.operation, step.id) if budget_guard else None
            if budget_guard is None or terms is None:
                begin = c.BeginStep(step=step.id)
                return self._command_handler.handle(session.stream, begin, guard=guard, durable=durable)
            while terms is not None:
                begin = c.BeginStep(step=step.id, reserved=terms.reservation)
                try:
                    return self._command_handler.handle(
                        session.stream, begin, guard=guard, limits=terms.limits, durable=False
                    )
                except OverBudget as over:
                    terms = budget_guard.reduce(terms, over)
        except Rejected as refused:
            return self.refuse(session, step, guard, refused)
        except StepLost:
            return "not_due"
        return "held_up"

    def claim_paid(
        self,
        handler: PaidStepHandler,
        state: StreamState,
        step: Step,
        guard: StepGuard,
        budget_guard: BudgetGuard,
    ) -> StepResult | None:
        """Claim a step of a stream that is not a session. Returns None if it is claimed and has to be run.

        `done`: a decision replaced the run. Raises `StepLost`, `LogUnavailable`.
        """
        apply = partial(self._command_handler.apply, turns_on=step.stream)
        try:
            approval = handler.approve(state, step)
            if not isinstance(approval, SpendingApproval):
                apply(approval, step.id, guard=guard)
                return "done"
            terms: SpendingApproval | None = approval
            while terms is not None:
                start = handler.record_start(step, terms.reservation)
                try:
                    apply(start, step.id, guard=guard, limits=terms.limits, durable=False)
                except OverBudget as over:
                    terms = budget_guard.reduce(terms, over)
                else:
                    return None
        except Rejected as refused:
            return self.refuse_paid(handler, step, guard, refused)
        return "held_up"

    def refuse_paid(
        self, handler: PaidStepHandler, step: Step, guard: StepGuard, refused: Rejected
    ) -> StepResult:
        """Fail such a step that may not run. Raises `LogUnavailable`."""
        decision = handler.refused(step, refused)
        try:
            self._command_handler.apply(decision, step.id, guard=guard, turns_on=step.stream)
        except StepLost:
            return "not_due"
        return "failed"

    def refuse(self, session: Session, step: Step, guard: StepGuard, refused: Rejected) -> StepResult:
        """Fail a step that may not run. A tool call that exceeds a budget gets the error as its result; after
        any other error its turn fails. Raises `LogUnavailable`."""
        end: c.SessionCommand = failed_step(session, step, refused.kind, refused.message, refused.hint)
        if isinstance(end, c.FinishToolCall) and refused.kind != BUDGET:
            end = c.FailTurn(step=step.id, kind=refused.kind, message=refused.message, hint=refused.hint)
        return self.end(session, end, guard, "failed")

    def end(
        self, session: Session, outcome: c.SessionCommand, guard: StepGuard, result: StepResult
    ) -> StepResult:
        """Claim a step and record its outcome in one append; `not_due` if another worker has the step.
        Raises `LogUnavailable`."""
        try:
            self._command_handler.handle(session.stream, outcome, guard=guard)
        except StepLost:
            return "not_due"
        return result
