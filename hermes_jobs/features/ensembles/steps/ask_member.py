"""`turn.reference`."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.ensembles.steps.member_request import MemberRequests
from hermes_jobs.kernel.engine.handlers.call_usage import UNREPORTED, with_estimate
from hermes_jobs.kernel.engine.handlers.failed_calls import QUOTA_SECONDS, Retries
from hermes_jobs.kernel.engine.handlers.request_builder import OUTPUT_LIMIT, shorter_answer
from hermes_jobs.kernel.engine.ports import (
    CANCELLED,
    Cancel,
    ConfiguredModel,
    ModelError,
    ModelRequest,
    Models,
    Reply,
    StepInterrupted,
)
from hermes_jobs.kernel.engine.ports.model import bill
from hermes_jobs.kernel.events import ReferenceFailed, ReferenceReplied
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.references import MAX_RETRIES, Reference
from hermes_jobs.kernel.turns.session import Session, running_turn
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.turn import Turn

OVERFLOW = "context_overflow"
EMPTY = "empty_answer"


class AskMember(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """`turn.reference`: one request to a member of the turn's ensemble, and its answer or its failure.

    Its text is not streamed to users: the answer is the aggregator's.
    """

    models: Models
    requests: MemberRequests
    retries: Retries

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        """See `StepHandler.run`. Raises `StepInterrupted` where the process stops."""
        turn, at = running_turn(session), self.models.of(session)
        reference = turn.reference(step.id)
        assert reference is not None, f"{step.id} is not a reference of {turn.id}"
        request = self.request(session, turn, reference)
        if not self.requests.fits(request):
            message = "the conversation does not fit its window"
            return c.FinishReference(step=step.id, outcome=_failure(turn, step, reference, OVERFLOW, message))
        received: list[str] = []
        try:
            reply = at.model.reply(request, cancel, received.append)
        except ModelError as error:
            if error.kind == CANCELLED and cancel.reason != CANCELLED:
                raise StepInterrupted from error
            failed = self._failed(at, turn, step, reference, request, error)
            if received or error.kind in UNREPORTED:
                failed = with_estimate(failed, at.pricing, reference.reserved, "".join(received))
            change = at.learn(request.model, failed.window) if failed.window else None
            return c.FinishReference(step=step.id, outcome=failed, change=change)
        return c.FinishReference(step=step.id, outcome=_outcome(at, turn, step, reference, request, reply))

    def request(self, session: Session, turn: Turn, reference: Reference) -> ModelRequest:
        """The member's request; see `MemberRequests.build`."""
        return self.requests.build(session, turn, reference)

    def _failed(
        self,
        at: ConfiguredModel,
        turn: Turn,
        step: Step,
        reference: Reference,
        request: ModelRequest,
        error: ModelError,
    ) -> ReferenceFailed:
        shorter = shorter_answer(request.max_tokens, error.limit) if error.kind == OUTPUT_LIMIT else None
        retry_at = self._retry_at(reference, error, shortened=shorter is not None)
        return replace(
            _failure(turn, step, reference, error.kind, error.message),
            retry_at=retry_at,
            usage=error.usage,
            cost_usd=at.pricing.cost_usd(request.model, error.usage),
            model=request.model,
            max_tokens=shorter if retry_at is not None else None,
            window=error.limit if error.kind == OVERFLOW else None,
        )

    def _retry_at(self, reference: Reference, error: ModelError, *, shortened: bool) -> float | None:
        """The time of the next attempt; None if the turn should not wait for this member."""
        if reference.retries >= MAX_RETRIES or (error.retry_after or 0.0) > QUOTA_SECONDS:
            return None
        return self.retries.at(error, reference.retries, shortened=shortened)


def _outcome(
    at: ConfiguredModel, turn: Turn, step: Step, reference: Reference, request: ModelRequest, reply: Reply
) -> ReferenceReplied | ReferenceFailed:
    """The member's answer; an empty one is left out, and its usage is recorded all the same."""
    billed = bill(reply, request.model, at.pricing)
    if not reply.content.strip():
        failed = _failure(turn, step, reference, EMPTY, "it gave an empty answer")
        failed = replace(failed, usage=reply.usage, cost_usd=billed.cost_usd, model=billed.model)
        return with_estimate(failed, at.pricing, reference.reserved, reply.reasoning)
    replied = ReferenceReplied(
        turn=turn.id,
        step=step.id,
        attempt=step.attempt,
        content=reply.content,
        model=billed.model,
        member=reference.model,
        finish_reason=reply.finish_reason,
        usage=reply.usage,
        cost_usd=billed.cost_usd,
        reasoning=reply.reasoning,
    )
    return with_estimate(replied, at.pricing, reference.reserved, reply.content + reply.reasoning)


def _failure(turn: Turn, step: Step, reference: Reference, kind: str, message: str) -> ReferenceFailed:
    return ReferenceFailed(
        turn=turn.id, step=step.id, attempt=step.attempt, kind=kind, message=message, member=reference.model
    )
