"""Abnormal outcomes: an unexpected exception in a handler, or a result that arrives after its claim was
lost."""

from __future__ import annotations

from msgspec.structs import replace

from hermes_jobs.domain.budgets import charged
from hermes_jobs.domain.events import (
    CallOutcome,
    CompressionFailed,
    ModelCallFailed,
    OutcomeDiscarded,
    ReferenceFailed,
    ResponseBooked,
    ToolFinished,
)
from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session import title_step
from hermes_jobs.domain.session.references import Reference
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.domain.usage import NO_USAGE, Reservation
from hermes_jobs.engine.ports import CANCELLED
from hermes_jobs.eventlog.log import StepRow


def failure_outcome(session: Session, step: Step, error: str) -> c.SessionCommand:
    """The outcome of a step whose handler raised an unexpected exception, so that it is not due for ever."""
    message = f"{step.kind} failed unexpectedly ({error})."
    hint = "The log of this process has the details. `hermes-jobs turns retry` tries again."
    job = session.compression
    if job is not None and job.step_id == step.id:
        if job.phase == "flush":
            return c.FinishFlush(step=step.id, message=message)
        failed = CompressionFailed(
            turn=job.turn, step=step.id, attempt=step.attempt, kind="internal", message=message
        )
        return c.FinishCompression(step=step.id, outcome=failed)
    if title_step.is_step(session, step.id):
        return c.FinishTitle(step=step.id, kind="internal", message=message)
    assert session.current is not None
    turn = session.current.id
    if step.operation == "turn.run_tool":
        answer = ToolFinished(
            turn=turn, call=step.id, ok=False, content=f"Error: {message}", attempt=step.attempt
        )
        return c.FinishToolCall(step=step.id, outcome=answer)
    if step.operation == "turn.call_model":
        failure = ModelCallFailed(
            turn=turn,
            step=step.id,
            attempt=step.attempt,
            kind="internal",
            message=message,
            hint=hint,
        )  # the call may have been made
        return c.FinishModelCall(step=step.id, outcome=charged(failure, session.current.reserved))
    asked = session.current.reference(step.id)
    if asked is not None:
        return c.FinishReference(step=step.id, outcome=lost_reference(turn, step, asked, message))
    return c.FailTurn(step=step.id, kind="internal", message=message, hint=hint)


def lost_reference(turn: str, step: Step, asked: Reference, message: str) -> ReferenceFailed:
    """The outcome of a reference whose handler raised an unexpected exception: it may have been made."""
    failure = ReferenceFailed(
        turn=turn, step=step.id, attempt=step.attempt, kind="internal", message=message, member=asked.model
    )
    return charged(failure, asked.reserved)


def is_failure(command: c.SessionCommand) -> bool:
    """Whether its step has failed for good; the result of a tool is not a failure, whatever it says."""
    match command:
        case c.FailTurn():
            return True
        case c.FinishModelCall(outcome=ModelCallFailed(kind=kind, retry_at=None)):
            return kind != CANCELLED
        case c.FinishReference(outcome=ReferenceFailed(kind=kind, retry_at=None)):
            return kind != CANCELLED
        case c.FinishCompression(outcome=CompressionFailed(kind=kind, retry_at=None)):
            return kind != CANCELLED
        case c.FinishTitle(title=None, kind=kind, retry_at=None):
            return kind not in {"", CANCELLED}
        case _:
            return False


def discarded_events(
    held: StepRow, command: c.SessionCommand, reserved: Reservation | None
) -> tuple[OutcomeDiscarded, ...]:
    """The events of an outcome that came after its claim was lost.

    `reserved` was charged as an estimate when the claim was lost; the reported usage replaces it.
    """
    if isinstance(command, c.AbandonStep):
        return ()
    step = held.step
    event = OutcomeDiscarded(
        turn=step.turn or "",
        step=step.id,
        worker=held.owner or "",
        kind=type(command).__name__,
        attempt=step.attempt,
    )
    if isinstance(command, c.FinishReference):
        booked = _with_usage_of(command.outcome, event)
        return (replace(booked, reserved=reserved if booked.usage != NO_USAGE else None),)
    if isinstance(command, c.FinishModelCall):
        booked = _with_usage_of(command.outcome, event)
        failed = tuple(_with_usage_of(each, event) for each in command.responses if each.usage != NO_USAGE)
        return (replace(booked, reserved=reserved if booked.usage != NO_USAGE else None), *failed)
    if isinstance(command, c.FinishFlush | c.FinishCompression | c.FinishTitle):
        reported = [_with_usage_of(each, event) for each in command.responses if each.usage != NO_USAGE]
        return (replace(reported[0], reserved=reserved), *reported[1:]) if reported else (event,)
    if isinstance(command, c.FinishToolCall):
        paid_for = [each for each in command.events if isinstance(each, ResponseBooked)]
        reported = [_with_usage_of(each, event) for each in paid_for]
        return (replace(reported[0], reserved=reserved), *reported[1:]) if reported else (event,)
    return (event,)


def _with_usage_of(response: CallOutcome | ResponseBooked, event: OutcomeDiscarded) -> OutcomeDiscarded:
    return replace(event, usage=response.usage, cost_usd=response.cost_usd, model=response.model)
