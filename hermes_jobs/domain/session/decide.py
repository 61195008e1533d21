"""`decide(command, session) → events`: which commands are permitted, and their events.

Every decision ends with `close_turn_if_idle`: a turn that is cancelled or failed ends, once no step of it is
running, in the same append as the last event.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import assert_never

from msgspec.structs import asdict, replace

from hermes_jobs.domain import events as e
from hermes_jobs.domain.budgets import charged, reservation_for
from hermes_jobs.domain.session import (
    answer_schema,
    approvals,
    children,
    compression_rules,
    inputs,
    labels,
    review_rules,
    reviews,
    server_tasks,
    title_step,
)
from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.evolve import fold
from hermes_jobs.domain.session.session import Session, not_ended, require_no_children, require_open_turn
from hermes_jobs.domain.session.steps import require_due
from hermes_jobs.domain.session.stops import REFUSED
from hermes_jobs.domain.session.turn import MAX_WORKER_CRASHES, Turn, may_join
from hermes_jobs.domain.usage import Reservation
from hermes_jobs.errors import Rejected


def decide(command: c.SessionCommand, session: Session) -> tuple[e.SessionEvent, ...]:
    """The command's events, in order; none where nothing is left to do.

    Raises `Rejected` for an invalid user command, `StepLost` where the step is no longer due.
    """
    events = tuple(_decide(command, session))
    events += tuple(close_turn_if_idle(fold(session, events)))
    return events + tuple(review_rules.of_curator(session, events))


def close_turn_if_idle(session: Session) -> Iterator[e.SessionEvent]:
    """End the running turn if it has to end and no step of it is running."""
    turn = session.current
    if turn is None or not turn.is_idle or (turn.cancelled_by is None and turn.failure is None):
        return
    job = session.compression
    if job is not None and job.running and job.turn == turn.id:
        return
    for call in turn.calls:
        if call.result is None:
            yield e.ToolInterrupted(turn=turn.id, call=call.id, reason="cancelled", attempt=call.attempt)
    yield usage_recorded(session, turn)
    if turn.cancelled_by is not None:
        yield e.TurnCancelled(turn=turn.id, by=turn.cancelled_by)
    elif turn.failure is not None:
        failure = turn.failure
        yield e.TurnFailed(turn=turn.id, kind=failure.kind, message=failure.message, hint=failure.hint)


def usage_recorded(session: Session, turn: Turn) -> e.UsageRecorded:
    """The turn's unrecorded usage, as an event."""
    books = turn.books
    return e.UsageRecorded(
        turn=turn.id,
        model=turn.model or session.model or "",
        **asdict(books.usage),
        cost_usd=books.cost_usd,
        num_model_calls=books.num_model_calls,
        num_tool_calls=books.num_tool_calls,
        estimated=books.estimated,
        estimated_cost_usd=books.estimated_cost_usd,
    )


def _decide(command: c.SessionCommand, session: Session) -> Iterator[e.SessionEvent]:  # noqa: PLR0912, PLR0915 - one case a command
    match command:
        case c.SubmitTurn():
            yield from _submit(command, session)
        case c.CancelTurn():
            yield from _cancel(command, session)
        case c.ResumeTurn():
            yield from _resume(command, session)
        case c.RateTurn():
            yield from _rate(command, session)
        case c.LabelTurn():
            yield from labels.label(command, session)
        case c.EndWait():
            yield from _end_wait(command, session)
        case c.ApproveCall():
            yield from approvals.approve(command, session)
        case c.DenyCall():
            yield from approvals.deny(command, session)
        case c.AnswerInput():
            yield from inputs.answer(command, session)
        case c.RenameSession():
            if command.title != session.title:
                yield e.SessionTitled(session=session.id, title=command.title)
        case c.ChangeModel():
            yield e.ModelChanged(session=session.id, model=command.model)
            if session.current is not None and session.current.quota_until:
                yield e.WaitEnded(turn=session.current.id, by="user", model=command.model)
        case c.ChangeMode():
            if command.mode != session.mode:
                yield e.ModeChanged(session=session.id, mode=command.mode, by=command.by)
        case c.ForkSession():
            if session.version == 0:
                yield command.started
        case c.EndSession():
            yield from _end(command, session)
        case c.RecordRestored():
            yield from _files_restored(command, session)
        case c.BeginStep():
            yield from _begin(command.step, session, command.reserved)
        case c.FinishPrefetch():
            yield from _prefetched(command, session)
        case c.PostponeTurn():
            yield _postponed(command, session)
        case c.CancelReview():
            yield from review_rules.cancel(command, session)
        case c.RequestCompression():
            yield from compression_rules.request(command, session)
        case c.FinishFlush():
            yield from compression_rules.finish_flush(command, session)
        case c.FinishCompression():
            yield from compression_rules.finish(command, session)
        case c.FinishTitle():
            yield from title_step.finish(command, session)
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
        case c.BeginServerTask():
            yield from server_tasks.begin(command, session)
        case c.PollServerTask():
            yield from server_tasks.polled(command, session)
        case c.FinishTurn():
            yield from _finish(command.step, session)
        case c.FailTurn():
            _, turn = require_due(session, command.step)
            yield usage_recorded(session, turn)
            yield e.TurnFailed(turn=turn.id, kind=command.kind, message=command.message, hint=command.hint)
        case c.AbandonStep():
            yield from _abandon(command, session)
        case _:
            assert_never(command)


# --- from users --------------------------------------------------------------------------------


def _submit(command: c.SubmitTurn, session: Session) -> Iterator[e.SessionEvent]:
    if session.ended_because is not None:
        raise Rejected(
            f"Session {session.id} has ended ({session.ended_because}).",
            kind="session_ended",
            hint="Start a new one: leave out --session and --continue.",
        )
    running = session.current
    if running is not None and command.if_busy == "reject":
        raise Rejected(
            f"Session {session.id} is busy with turn {running.id}.",
            kind="busy",
            hint="Send it again later, or with --if-busy queue.",
        )
    opening = command.opening or e.Opening() if session.version == 0 else None
    yield e.TurnSubmitted(**asdict(replace(command, session=session.id, opening=opening)))
    if running is not None and command.if_busy == "interrupt" and running.cancelled_by is None:
        yield e.TurnCancelRequested(turn=running.id, by="interrupt")


def _cancel(command: c.CancelTurn, session: Session) -> Iterator[e.SessionEvent]:
    turn = require_open_turn(session, command.turn)
    if turn.cancelled_by is not None:
        return
    if turn is session.current:
        yield e.TurnCancelRequested(turn=turn.id, by=command.by)
    else:
        yield usage_recorded(session, turn)
        yield e.TurnCancelled(turn=turn.id, by=command.by)


def _resume(command: c.ResumeTurn, session: Session) -> Iterator[e.SessionEvent]:
    ended = session.ended.get(command.turn)
    if ended is None:
        raise not_ended(session, require_open_turn(session, command.turn).id)
    if command.only_stopped and ended.stopped_by is None:
        hint = f"`hermes-jobs turns retry {command.turn}` continues with it." if ended.turn else ""
        raise Rejected(
            f"Turn {command.turn} has {ended.past}: no limit stopped it, so there is nothing to continue.",
            kind="not_stopped",
            hint=hint or "For more, send another message to its session.",
        )
    if ended.turn is None:
        raise Rejected(
            f"Turn {command.turn} has {ended.past}: only failed, cancelled and stopped turns can be retried.",
            kind="not_retryable",
        )
    yield e.TurnResumed(
        turn=command.turn,
        by=command.by,
        budget_usd=command.budget_usd,
        model=command.model,
        settings=command.settings,
        requires=command.requires,
        ensemble=command.ensemble,
        members=command.members,
    )


def _rate(command: c.RateTurn, session: Session) -> Iterator[e.TurnRated]:
    ended = session.ended.get(command.turn)
    if ended is None:
        raise not_ended(session, require_open_turn(session, command.turn).id)
    if ended.into is not None:
        raise Rejected(
            f"Turn {command.turn} went into turn {ended.into}.", kind="usage", hint=f"Rate {ended.into}."
        )
    rated = e.TurnRated(**asdict(command))
    if rated != ended.rated and (ended.rated is not None or rated.rating != "none"):
        yield rated


def _end_wait(command: c.EndWait, session: Session) -> Iterator[e.SessionEvent]:
    turn = require_open_turn(session, command.turn)
    if not turn.waits_until:
        raise Rejected(f"Turn {turn.id} does not wait for a quota or a server.", kind="not_waiting")
    yield e.WaitEnded(turn=turn.id, by=command.by, model=command.model)


def _end(command: c.EndSession, session: Session) -> Iterator[e.SessionEvent]:
    if session.ended_because is not None:
        return
    if session.current is not None:
        raise Rejected(
            f"Session {session.id} is busy with turn {session.current.id}.",
            kind="busy",
            hint=f"Cancel it first: hermes-jobs turns cancel {session.current.id}",
        )
    require_no_children(session)
    yield from compression_rules.give_up(session)
    yield e.SessionEnded(session=session.id, reason=command.reason)


def _files_restored(command: c.RecordRestored, session: Session) -> Iterator[e.FilesRestored]:
    if command.turn not in session.ended:
        raise not_ended(session, require_open_turn(session, command.turn).id)
    if command.files:
        yield e.FilesRestored(**asdict(command))


# --- from the engine ---------------------------------------------------------------------------


def _begin(step_id: str, session: Session, reserved: Reservation | None) -> Iterator[e.SessionEvent]:
    if session.compression is not None and session.compression.step_id == step_id:
        yield from compression_rules.begin(session, step_id, reserved)
        return
    if title_step.is_step(session, step_id):
        yield from title_step.begin(session, step_id, reserved)
        return
    step, turn = require_due(session, step_id)
    if step.operation == "turn.call_model":
        for steer in session.waiting:
            if steer.if_busy == "steer" and may_join(turn, steer):
                yield e.TurnMerged(turn=steer.id, into=turn.id)
        yield e.ModelCallStarted(turn=turn.id, step=step.id, attempt=step.attempt, reserved=reserved)
    elif step.operation == "turn.reference":
        asked = turn.reference(step.id)
        assert asked is not None, f"{step.id} is not a reference of {turn.id}"
        yield e.ReferenceStarted(
            turn=turn.id, step=step.id, attempt=step.attempt, model=asked.model, reserved=reserved
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
        for each in takewhile(lambda waiting: _is_collected(turn, waiting), session.waiting):
            yield e.TurnMerged(turn=each.id, into=turn.id)
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
    """The outcome, which says whether it leaves the aggregator alone."""
    turn = fold(session, (outcome,)).current
    if isinstance(outcome, e.ReferenceReplied) or turn is None or turn.open_references:
        return outcome
    return replace(outcome, alone=all(each.text is None for each in turn.references))


def _finish(step_id: str, session: Session) -> Iterator[e.SessionEvent]:
    _, turn = require_due(session, step_id)
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
        )


def _abandon(command: c.AbandonStep, session: Session) -> Iterator[e.SessionEvent]:
    job = session.compression
    if job is not None and job.step_id == command.step:
        compression_rules.due(session, command.step)
        yield _abandoned(command, session, job.turn or "", job.attempt)
        return
    if session.titling is not None and title_step.is_step(session, command.step):
        yield _abandoned(command, session, "", session.titling.attempt)
        return
    step, turn = require_due(session, command.step)
    yield _abandoned(command, session, turn.id, step.attempt)
    asked = turn.reference(step.id)
    if asked is not None and command.reason == "died" and asked.worker_crashes + 1 >= MAX_WORKER_CRASHES:
        lost = e.ReferenceFailed(
            turn=turn.id,
            step=step.id,
            attempt=step.attempt,
            kind="worker_lost",
            message=f"{MAX_WORKER_CRASHES} workers in a row died while they asked it",
            member=asked.model,
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
