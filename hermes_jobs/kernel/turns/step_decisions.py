"""Decisions of the engine's commands: a step begins, has an outcome, or is abandoned."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import assert_never

from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.budgets import charged, reservation_for
from hermes_jobs.kernel.streams.usage import Reservation
from hermes_jobs.kernel.turns import (
    answer_schema,
    approvals,
    children,
    compression_rules,
    inputs,
    reviews,
)
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.session import Session, running_turn, usage_recorded
from hermes_jobs.kernel.turns.steps import require_due
from hermes_jobs.kernel.turns.stops import REFUSED
from hermes_jobs.kernel.turns.turn import MAX_WORKER_CRASHES, Turn, may_join


def decide(command: c.StepCommand, session: Session) -> Iterator[e.SessionEvent]:  # noqa: PLR0912 - one case a command
    """The command's events. Raises `StepLost` where the step is no longer due."""
    match command:
        case c.BeginStep():
            yield from _begin(command.step, session, command.reserved)
        case c.FinishPrefetch():
            yield from _prefetched(command, session)
        case c.PostponeTurn():
            yield _postponed(command, session)
        case c.FinishFlush():
            yield from compression_rules.finish_flush(command, session)
        case c.FinishCompression():
            yield from compression_rules.finish(command, session)
        case c.FinishModelCall():
            yield from _called(command, session)
        case c.FinishReference():
            require_due(session, command.step)
            yield _referred(command.outcome, session)
            yield from command.warnings
        case c.FinishToolCall():
            require_due(session, command.step)
            yield from command.events
            yield command.outcome
        case c.StartChildren():
            yield from children.start(command, session)
        case c.ExpireApproval():
            yield from approvals.expire(command, session)
        case c.RequestInput():
            yield from inputs.request(command, session)
        case c.ExpireInput():
            yield from inputs.expire(command, session)
        case c.FollowServerTask():
            require_due(session, command.progress.call)
            yield command.progress
        case c.FinishTurn():
            yield from _finish(command, session)
        case c.FailTurn():
            _, turn = require_due(session, command.step)
            yield usage_recorded(session, turn)
            yield e.TurnFailed(turn=turn.id, kind=command.kind, message=command.message, hint=command.hint)
        case c.AbandonStep():
            yield from _abandon(command, session)
        case _:
            assert_never(command)


def _begin(step_id: str, session: Session, reserved: Reservation | None) -> Iterator[e.SessionEvent]:
    if session.compression is not None and session.compression.step_id == step_id:
        yield from compression_rules.begin(session, step_id, reserved)
        return
    step, turn = require_due(session, step_id)
    if step.operation == "turn.call_model":
        for steer in session.waiting:
            if steer.if_busy == "steer" and may_join(turn, steer):
                yield e.TurnMerged(turn=steer.id, into=turn.id)
        yield e.ModelCallStarted(turn=turn.id, step=step.id, attempt=step.attempt, reserved=reserved)
    elif step.operation == "turn.prefetch" and reserved is not None:
        yield e.PerceptionStarted(turn=turn.id, step=step.id, attempt=step.attempt, reserved=reserved)
    elif step.operation == "turn.reference":
        reference = turn.reference(step.id)
        assert reference is not None, f"{step.id} is not a reference of {turn.id}"
        yield e.ReferenceStarted(
            turn=turn.id, step=step.id, attempt=step.attempt, model=reference.model, reserved=reserved
        )
    elif step.operation == "turn.run_tool":
        call = turn.call(step.id)
        if call is not None and not (call.waits_for_person or call.has_task):
            yield e.ToolStarted(
                turn=turn.id,
                step=turn.step_id,
                call=call.id,
                name=call.request.name,
                arguments=call.request.arguments,
                attempt=call.attempt,
                effect=call.effect,
                reserved=reserved,
            )


def _prefetched(command: c.FinishPrefetch, session: Session) -> Iterator[e.SessionEvent]:
    _, turn = require_due(session, command.step)
    if command.started is not None and session.started is None:
        yield command.started
    if turn.if_busy == "collect":
        for waiting in takewhile(lambda other: _is_collected(turn, other), session.waiting):
            yield e.TurnMerged(turn=waiting.id, into=turn.id)
    yield from command.responses
    yield command.prefetched


def _postponed(command: c.PostponeTurn, session: Session) -> e.TurnPostponed:
    _, turn = require_due(session, command.step)
    return e.TurnPostponed(
        turn=turn.id,
        reason=command.reason,
        retry_at=command.retry_at,
        since=command.since,
        number=turn.postponements + 1,
        what=command.what,
    )


def _is_collected(turn: Turn, waiting: Turn) -> bool:
    return waiting.if_busy == "collect" and may_join(turn, waiting)


def _called(command: c.FinishModelCall, session: Session) -> Iterator[e.SessionEvent]:
    _, turn = require_due(session, command.step)
    yield from command.responses
    yield command.outcome
    yield from command.warnings
    if turn.cancelled_by is not None:
        return
    yield from command.approvals
    if turn.answer_schema:
        after = fold(session, (*command.responses, command.outcome))
        yield from answer_schema.judged(after, command.answer_faults)
    if command.pressure is not None:
        yield command.pressure
    if command.compress is not None:
        yield from compression_rules.request(
            command.compress, fold(session, (*command.responses, command.outcome))
        )


def _referred(
    outcome: e.ReferenceReplied | e.ReferenceFailed, session: Session
) -> e.ReferenceReplied | e.ReferenceFailed:
    """The outcome, with `alone` set if the aggregator has no answers."""
    turn = fold(session, (outcome,)).current
    if isinstance(outcome, e.ReferenceReplied) or turn is None or turn.open_references:
        return outcome
    return replace(outcome, alone=all(reference.text is None for reference in turn.references))


def _finish(command: c.FinishTurn, session: Session) -> Iterator[e.SessionEvent]:
    require_due(session, command.step)
    yield from command.spoken
    session = fold(session, command.spoken)
    turn = running_turn(session)
    yield usage_recorded(session, turn)
    stopped_by = turn.stopped_by or (REFUSED if turn.was_refused else None)
    yield e.TurnCompleted(turn=turn.id, answer=answer_schema.final_answer(turn), stopped_by=stopped_by)
    kind = reviews.due_kind(session.review_counters)
    if kind is not None:
        yield e.ReviewRequested(
            review=f"v{turn.id[1:]}",
            kind=kind,
            reason=reviews.reason(session.review_counters, kind),
            turn=turn.id,
            account=turn.account,
            account_usd=turn.account_usd,
        )
    if command.rested_at is not None and not session.waiting and session.ended_because is None:
        yield e.SessionRested(turn=turn.id, at=command.rested_at)
        if command.compress is not None:
            yield from compression_rules.request(command.compress, replace(session, current=None))


def _abandon(command: c.AbandonStep, session: Session) -> Iterator[e.SessionEvent]:
    job = session.compression
    if job is not None and job.step_id == command.step:
        compression_rules.due(session, command.step)
        yield _abandoned(command, session, job.turn or "", job.attempt)
        return
    step, turn = require_due(session, command.step)
    yield _abandoned(command, session, turn.id, step.attempt)
    reference = turn.reference(step.id)
    if (
        reference is not None
        and command.reason == "died"
        and reference.worker_crashes + 1 >= MAX_WORKER_CRASHES
    ):
        lost = e.ReferenceFailed(
            turn=turn.id,
            step=step.id,
            attempt=step.attempt,
            kind="worker_lost",
            message=f"{MAX_WORKER_CRASHES} workers in a row died while they asked it",
            member=reference.model,
        )
        yield _referred(lost, session)
    call = turn.call(step.id)
    if call is None or not call.running:
        return
    if call.effect == "write":
        yield e.ToolInterrupted(turn=turn.id, call=call.id, reason="unknown_outcome", attempt=call.attempt)
    elif command.reason == "died" and call.worker_crashes + 1 >= MAX_WORKER_CRASHES:
        yield e.ToolInterrupted(turn=turn.id, call=call.id, reason="worker_lost", attempt=call.attempt)


def _abandoned(command: c.AbandonStep, session: Session, turn: str, attempt: int) -> e.StepAbandoned:
    event = e.StepAbandoned(
        turn=turn, step=command.step, worker=command.worker, attempt=attempt, reason=command.reason
    )
    return charged(event, reservation_for(session, command.step))
