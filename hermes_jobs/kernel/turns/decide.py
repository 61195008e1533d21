"""`decide(command, session) → events`: which commands are permitted, and their events.

Every decision ends with `close_turn_if_idle`: a turn that is cancelled or failed ends, once no step of it is
running, in the same append as the last event.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import (
    approvals,
    compression_rules,
    inputs,
    labels,
    review_rules,
    step_decisions,
)
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.session import (
    Session,
    not_ended,
    require_no_children,
    require_open_turn,
    usage_recorded,
)
from hermes_jobs.kernel.turns.turn import Turn


def decide(command: c.SessionCommand, session: Session) -> tuple[e.SessionEvent, ...]:
    """The command's events, in order; none if nothing is left to do.

    Raises `Rejected` for an invalid user command, `StepLost` where the step is no longer due.
    """
    if isinstance(command, c.StepCommand):
        events = tuple(step_decisions.decide(command, session))
    else:
        events = tuple(_of_user(command, session))
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
        yield from _cancelled_with_child(session, turn, turn.cancelled_by)
        yield e.TurnCancelled(turn=turn.id, by=turn.cancelled_by)
    elif turn.failure is not None:
        failure = turn.failure
        yield e.TurnFailed(turn=turn.id, kind=failure.kind, message=failure.message, hint=failure.hint)


def _cancelled_with_child(session: Session, turn: Turn, by: str) -> Iterator[e.SessionEvent]:
    """The ends of steering texts that a cancelled child did not get. Its parent no longer reads its answers,
    so these texts do not become turns of their own, as they do elsewhere; unless a user's next text
    interrupted it."""
    is_interrupted = any(waiting.if_busy == "interrupt" for waiting in session.waiting)
    if session.delegation_of(turn.id) is None or is_interrupted:
        return
    for steer in session.waiting:
        if steer.if_busy == "steer":
            yield usage_recorded(session, steer)
            yield e.TurnCancelled(turn=steer.id, by=by)


def _of_user(command: c.UserCommand, session: Session) -> Iterator[e.SessionEvent]:  # noqa: PLR0912 - one case a command
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
        case c.CancelReview():
            yield from review_rules.cancel(command, session)
        case c.RequestCompression():
            yield from compression_rules.request(command, session)
        case _:
            assert_never(command)


def _submit(command: c.SubmitTurn, session: Session) -> Iterator[e.SessionEvent]:
    submitted, running = command.submitted, session.current
    if session.ended_because is not None:
        raise Rejected(
            f"Session {session.id} has ended ({session.ended_because}).",
            kind="session_ended",
            hint="Start a new one: leave out --session and --continue.",
        )
    if running is not None and submitted.if_busy == "reject":
        raise Rejected(
            f"Session {session.id} is busy with turn {running.id}.",
            kind="busy",
            hint="Send it again later, or with --if-busy queue.",
        )
    opening = submitted.opening or e.Opening() if session.version == 0 else None
    yield replace(submitted, session=session.id, opening=opening)
    if running is not None and submitted.if_busy == "interrupt" and running.cancelled_by is None:
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
    turn = command.resumed.turn
    ended = session.ended.get(turn)
    if ended is None:
        raise not_ended(session, require_open_turn(session, turn).id)
    if command.only_stopped and ended.stopped_by is None:
        hint = f"`hermes-jobs turns retry {turn}` continues with it." if ended.turn else ""
        raise Rejected(
            f"Turn {turn} has {ended.past}: no limit stopped it, so there is nothing to continue.",
            kind="not_stopped",
            hint=hint or "For more, send another message to its session.",
        )
    if ended.turn is None:
        raise Rejected(
            f"Turn {turn} has {ended.past}: only failed, cancelled and stopped turns can be retried.",
            kind="not_retryable",
        )
    yield command.resumed


def _rate(command: c.RateTurn, session: Session) -> Iterator[e.TurnRated]:
    rated = command.rated
    ended = session.ended.get(rated.turn)
    if ended is None:
        raise not_ended(session, require_open_turn(session, rated.turn).id)
    if ended.into is not None:
        raise Rejected(
            f"Turn {rated.turn} went into turn {ended.into}.", kind="usage", hint=f"Rate {ended.into}."
        )
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
    restored = command.restored
    if restored.turn not in session.ended:
        raise not_ended(session, require_open_turn(session, restored.turn).id)
    if restored.files:
        yield restored
