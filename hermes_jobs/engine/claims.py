"""Claims: the start of an operation is appended, and its cost reserved, before its handler runs."""

from __future__ import annotations

from functools import partial
from typing import Literal

from hermes_jobs.domain.accounts import OverBudget
from hermes_jobs.domain.events import CompressionFailed, ReferenceFailed, ToolFinished
from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session import title_step
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.domain.session.stops import BUDGET
from hermes_jobs.domain.streams import StreamState
from hermes_jobs.engine.budget_guard import BudgetGuard
from hermes_jobs.engine.command_handler import CommandHandler
from hermes_jobs.engine.ports import PaidStepHandler, SpendingApproval
from hermes_jobs.errors import Rejected, StepLost
from hermes_jobs.eventlog.log import StepGuard

StepResult = Literal["done", "failed", "nothing", "not_yet", "held_up", "abandoned", "discarded"]
"""The result of running a step. `nothing`: it is not due, or claimed by another worker. `failed`: for good,
without an automatic retry. `held_up`: it waits for budget that other calls have reserved."""


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

        `nothing`: another worker has it. `held_up`: it waits for budget that other calls have reserved.
        `failed`: no budget is left for it. Raises `LogUnavailable`.
        """
        try:
            terms = budget_guard.approve(session, step.operation, step.id) if budget_guard else None
            if budget_guard is not None and terms is not None:
                return self._paid_for(budget_guard, terms, session, step, guard)
            begin = c.BeginStep(step=step.id)
            return self._command_handler.handle(session.stream, begin, guard=guard, durable=durable)
        except Rejected as refused:
            return self.refuse(session, step, guard, refused)
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

    def claim_paid(
        self,
        handler: PaidStepHandler,
        state: StreamState,
        step: Step,
        guard: StepGuard,
        budget_guard: BudgetGuard,
    ) -> StepResult | None:
        """Claim a step of another stream than a session's; None: it is claimed, and is to be run.

        `done`: something else took its place. Raises `StepLost`, `LogUnavailable`.
        """
        apply = partial(self._command_handler.apply, turns_on=step.stream)
        try:
            asked = handler.approve(state, step)
            if not isinstance(asked, SpendingApproval):
                apply(asked, step.id, guard=guard)
                return "done"
            terms: SpendingApproval | None = asked
            while terms is not None:
                begun = handler.begun(step, terms.reservation)
                try:
                    apply(begun, step.id, guard=guard, limits=terms.limits, durable=False)
                except OverBudget as over:
                    terms = budget_guard.reduce(terms, over)
                else:
                    return None
        except Rejected as refused:
            apply(handler.refused(step, refused), step.id, guard=guard)
            return "failed"
        return "held_up"

    def refuse(self, session: Session, step: Step, guard: StepGuard, refused: Rejected) -> StepResult:
        """Fail the compression, the title or the turn whose step may not run; leave out the member that may
        not be asked; answer the tool call that the budgets do not pay for. Raises `LogUnavailable`."""
        job = session.compression
        end: c.SessionCommand
        if job is not None and job.step_id == step.id:
            failed = CompressionFailed(
                turn=job.turn, step=step.id, attempt=step.attempt, kind=refused.kind, message=refused.message
            )
            end = c.FinishCompression(step=step.id, outcome=failed)
        elif session.current is not None and (asked := session.current.reference(step.id)) is not None:
            left_out = ReferenceFailed(
                turn=session.current.id,
                step=step.id,
                attempt=step.attempt,
                kind=refused.kind,
                message=refused.message,
                member=asked.model,
            )
            end = c.FinishReference(step=step.id, outcome=left_out)
        elif title_step.is_step(session, step.id):
            end = c.FinishTitle(step=step.id, kind=refused.kind, message=refused.message)
        elif step.operation == "turn.run_tool" and refused.kind == BUDGET and session.current is not None:
            answer = ToolFinished(
                turn=session.current.id,
                call=step.id,
                ok=False,
                content=f"Error: {refused.message}",
                attempt=step.attempt,
            )
            end = c.FinishToolCall(step=step.id, outcome=answer)
        else:
            end = c.FailTurn(step=step.id, kind=refused.kind, message=refused.message, hint=refused.hint)
        try:
            self._command_handler.handle(session.stream, end, guard=guard)
        except StepLost:
            return "nothing"
        return "failed"
