"""Abnormal outcomes: a step that may not run, an unexpected exception in a handler, or a result that arrives
after its claim was lost."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import CANCELLED
from hermes_jobs.kernel.events import (
    CompressionFailed,
    CompressionStarted,
    ModelCallFailed,
    ModelCallStarted,
    OutcomeDiscarded,
    PerceptionStarted,
    ReferenceFailed,
    ReferenceStarted,
    ResponseBooked,
    ToolFinished,
    ToolStarted,
)
from hermes_jobs.kernel.events.paid import CallOutcome
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.log import StepRow
from hermes_jobs.kernel.streams.budgets import charged, reservation_for
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step

_STARTS = (CompressionStarted, ModelCallStarted, PerceptionStarted, ReferenceStarted, ToolStarted)


def failed_step(
    session: Session, step: Step, kind: str, message: str, hint: str = ""
) -> c.FinishCompression | c.FinishReference | c.FinishToolCall | c.FailTurn:
    """The command that ends the step for good with that error, at no cost.

    The compression or the tool call fails, a member is left out, or else the turn fails.
    """
    job, turn = session.compression, session.current
    if job is not None and job.step_id == step.id:
        failed = CompressionFailed(
            turn=job.turn, step=step.id, attempt=step.attempt, kind=kind, message=message
        )
        return c.FinishCompression(step=step.id, outcome=failed)
    reference = turn.reference(step.id) if turn is not None else None
    if turn is not None and reference is not None:
        left_out = ReferenceFailed(
            turn=turn.id,
            step=step.id,
            attempt=step.attempt,
            kind=kind,
            message=message,
            member=reference.model,
        )
        return c.FinishReference(step=step.id, outcome=left_out)
    if turn is not None and step.operation == "turn.run_tool":
        result = ToolFinished(
            turn=turn.id, call=step.id, ok=False, content=f"Error: {message}", attempt=step.attempt
        )
        return c.FinishToolCall(step=step.id, outcome=result)
    return c.FailTurn(step=step.id, kind=kind, message=message, hint=hint)


def failure_outcome(session: Session, step: Step, error: str) -> c.SessionCommand:
    """The outcome of a step whose handler raised an unexpected exception, so that it does not stay due.

    A call of a model may have been made: its reservation counts as its usage.
    """
    message = f"{step.kind} failed unexpectedly ({error})."
    hint = "The log of this process has the details. `hermes-jobs turns retry` tries again."
    job, turn = session.compression, session.current
    if job is not None and job.step_id == step.id and job.phase == "flush":
        return c.FinishFlush(step=step.id, message=message)
    if step.operation == "turn.call_model" and turn is not None:
        failure = ModelCallFailed(
            turn=turn.id, step=step.id, attempt=step.attempt, kind="internal", message=message, hint=hint
        )
        return c.FinishModelCall(step=step.id, outcome=charged(failure, turn.reserved))
    command = failed_step(session, step, "internal", message, hint)
    if isinstance(command, c.FinishReference) and isinstance(command.outcome, ReferenceFailed):
        reserved = reservation_for(session, step.id)
        return replace(command, outcome=charged(command.outcome, reserved))
    return command


def is_failure(command: c.SessionCommand) -> bool:
    """Whether this attempt of its step has failed, for good or until the next one; the result of a tool is
    not a failure, even if it reports an error."""
    match command:
        case c.FailTurn():
            return True
        case c.FinishModelCall(outcome=ModelCallFailed(kind=kind)):
            return kind != CANCELLED
        case c.FinishReference(outcome=ReferenceFailed(kind=kind)):
            return kind != CANCELLED
        case c.FinishCompression(outcome=CompressionFailed(kind=kind)):
            return kind != CANCELLED
        case _:
            return False


def is_recorded(records: Sequence[RecordedEvent], row: StepRow, worker: str) -> bool:
    """Whether the outcome of a claim is in the stream: the log recorded it, and could not say so.

    `worker` is the id under which this process writes now.
    """
    own = {row.owner, worker}
    for record in reversed(records):
        attempt = getattr(record.event, "attempt", row.step.attempt)
        is_own = record.meta.causation == row.step.id and record.meta.worker in own
        if is_own and attempt == row.step.attempt:
            return not isinstance(record.event, _STARTS)
    return False


def discarded_events(
    row: StepRow, command: c.SessionCommand, reserved: Reservation | None
) -> tuple[OutcomeDiscarded, ...]:
    """The events of an outcome that arrived after its claim was lost.

    `reserved` was charged as an estimate when the claim was lost; the reported usage replaces it.
    """
    if isinstance(command, c.AbandonStep):
        return ()
    step = row.step
    event = OutcomeDiscarded(
        turn=step.turn or "",
        step=step.id,
        worker=row.owner or "",
        kind=type(command).__name__,
        attempt=step.attempt,
    )
    match command:
        case c.FinishReference(outcome=outcome):
            return (_discarded_call(event, outcome, reserved),)
        case c.FinishModelCall(outcome=outcome, responses=responses):
            failed = (_with_usage_of(response, event) for response in responses if response.usage != NO_USAGE)
            return (_discarded_call(event, outcome, reserved), *failed)
        case c.FinishFlush() | c.FinishCompression():
            paid_for = [response for response in command.responses if response.usage != NO_USAGE]
        case c.FinishToolCall():
            paid_for = [response for response in command.events if isinstance(response, ResponseBooked)]
        case _:
            return (event,)
    first, *others = [_with_usage_of(response, event) for response in paid_for] or [event]
    return (replace(first, reserved=reserved) if paid_for else first, *others)


def _discarded_call(
    event: OutcomeDiscarded, outcome: CallOutcome, reserved: Reservation | None
) -> OutcomeDiscarded:
    discarded = _with_usage_of(outcome, event)
    return replace(discarded, reserved=reserved if discarded.usage != NO_USAGE else None)


def _with_usage_of(response: CallOutcome | ResponseBooked, event: OutcomeDiscarded) -> OutcomeDiscarded:
    return replace(event, usage=response.usage, cost_usd=response.cost_usd, model=response.model)
