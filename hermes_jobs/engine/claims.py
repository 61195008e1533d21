"""Claims: the start of an operation is appended, and its cost reserved, before its handler runs."""

from __future__ import annotations

from typing import Literal

from hermes_jobs.domain.accounts import OverBudget
from hermes_jobs.domain.events import CompressionFailed
from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.budget_guard import BudgetGuard, SpendingApproval
from hermes_jobs.engine.command_handler import CommandHandler
from hermes_jobs.errors import Rejected, StepLost
from hermes_jobs.eventlog.log import StepGuard

StepResult = Literal["done", "failed", "nothing", "not_yet", "held_up", "abandoned", "discarded"]
"""The result of running a step. `nothing`: it is not due, or claimed by another worker. `failed`: for good,
without an automatic retry. `held_up`: it waits for budget that other calls have reserved."""


class StepClaims:
    """Claims operations for one process. Without a budget guard nothing is reserved."""

    def __init__(self, command_handler: CommandHandler, budget_guard: BudgetGuard | None) -> None:
        self._command_handler = command_handler
        self._budget_guard = budget_guard

    def claim(self, session: Session, step: Step, guard: StepGuard, *, durable: bool) -> Session | StepResult:
        """The session after the step's start; or the result where it was not claimed.

        `nothing`: another worker has it. `held_up`: it waits for budget that other calls have reserved.
        `failed`: no budget is left for it. Raises `LogUnavailable`.
        """
        try:
            terms = (
                self._budget_guard.approve(session, step.operation, step.id) if self._budget_guard else None
            )
            if self._budget_guard is not None and terms is not None:
                return self._paid_for(self._budget_guard, terms, session, step, guard)
            begin = c.BeginStep(step=step.id)
            return self._command_handler.handle(session.stream, begin, guard=guard, durable=durable)
        except Rejected as refused:
            return self._unpaid(session, step, guard, refused)
        except StepLost:
            return "nothing"

    def _paid_for(
        self,
        budget_guard: BudgetGuard,
        terms: SpendingApproval,
        session: Session,
        step: Step,
        guard: StepGuard,
    ) -> Session | StepResult:
        asked: SpendingApproval | None = terms
        while asked is not None:
            begin = c.BeginStep(step=step.id, reserved=asked.reservation)
            try:
                return self._command_handler.handle(
                    session.stream, begin, guard=guard, limits=asked.limits, durable=False
                )
            except OverBudget as over:
                asked = budget_guard.reduce(asked, over)
        return "held_up"

    def _unpaid(self, session: Session, step: Step, guard: StepGuard, refused: Rejected) -> StepResult:
        """Fail the compression, or the turn, that the budgets do not pay for."""
        job = session.compression
        end: c.SessionCommand
        if job is not None and job.step_id == step.id:
            failed = CompressionFailed(
                turn=job.turn, step=step.id, attempt=step.attempt, kind=refused.kind, message=refused.message
            )
            end = c.FinishCompression(step=step.id, outcome=failed)
        else:
            end = c.FailTurn(step=step.id, kind=refused.kind, message=refused.message, hint=refused.hint)
        try:
            self._command_handler.handle(session.stream, end, guard=guard)
        except StepLost:
            return "nothing"
        return "failed"
