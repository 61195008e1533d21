"""`evolve(session, event) → session`: the effect of every event on a session's state."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import assert_never

from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams import subscriptions
from hermes_jobs.kernel.turns import (
    call_events,
    children,
    compression_rules,
    inputs,
    review_rules,
    rounds,
    server_tasks,
    title_step,
    turn_events,
)
from hermes_jobs.kernel.turns import turn as turns
from hermes_jobs.kernel.turns.rights import withdrawn
from hermes_jobs.kernel.turns.session import Session, replace_turn, running_turn
from hermes_jobs.kernel.turns.titles import given_title


def fold(session: Session, events: Iterable[e.SessionEvent]) -> Session:
    """The session after those events, in order."""
    return reduce(evolve, events, session)


def evolve(session: Session, event: e.SessionEvent) -> Session:
    """The session after one more event."""
    version = session.version + 1
    session = _apply(session, event)
    return replace(
        session,
        version=version,
        listeners=subscriptions.advance(session.listeners, event, version),
        news=_news(session, event),
    )


def _news(session: Session, event: e.SessionEvent) -> tuple[str, ...]:
    """Notices for the next answer; an answer or a failure empties them."""
    if isinstance(event, e.TurnCompleted | e.TurnFailed):
        return ()
    text = review_rules.news_of(event)
    return session.news if text is None or text in session.news else (*session.news, text)


def _apply(session: Session, event: e.SessionEvent) -> Session:  # noqa: PLR0911, PLR0912 - one case an event
    if isinstance(event, e.TurnEvent):
        return turn_events.evolve(session, event)
    if isinstance(event, e.CallEvent):
        return call_events.evolve(session, event)
    if isinstance(event, e.CompressionEvent):
        return compression_rules.evolve(session, event)
    match event:
        case e.SessionStarted():
            origin = session.forked_from if event.at is None else event.parent
            return replace(session, started=event, model=event.model, ended_because=None, forked_from=origin)
        case e.SessionTitled():
            return replace(session, title=event.title, named=given_title(event.title, session.named))
        case e.SessionEnded():
            return replace(session, ended_because=event.reason)
        case e.SessionUndone():
            return replace(session, undone_into=event.into, title=None, named=None)
        case e.SessionRested():
            return replace(session, rested_at=event.at)
        case e.ModelChanged():
            return replace(session, model=event.model)
        case e.ModeChanged():
            return _mode_changed(session, event)
        case e.RightsWithdrawn():
            return withdrawn(session)
        case e.TodosWritten():
            return replace(session, todos=event.items)
        case e.InputRequested() | e.InputAnswered():
            return inputs.evolve(session, event)
        case e.ServerTaskBegun() | e.ServerTaskPolled():
            return server_tasks.evolve(session, event)
        case e.StepAbandoned():
            return _abandoned(session, event)
        case e.OutcomeDiscarded():
            return _discarded(session, event)
        case e.ResponseBooked():
            return _with_response(session, event)
        case e.ReviewRequested() | e.ReviewStarted() | e.ReviewCompleted() | e.ReviewFailed():
            return review_rules.evolve(session, event)
        case e.HelperCallStarted() | e.HelperCallEnded() | e.HelperCallFailed():
            return title_step.evolve(session, event)
        case e.FilesRestored():
            return _restored(session, event)
        case e.FilesDelivered():
            turn = running_turn(session)
            files = dict.fromkeys((*turn.delivered, *event.attachments))
            return replace(session, current=replace(turn, delivered=tuple(files)))
        case e.ChildrenStarted() | e.ChildEnded() | e.TurnReleased():
            return children.evolve(session, event)
        case e.FileWritten() | e.ListenerTold() | e.BudgetWarned():
            return session
        case _:
            assert_never(event)


def _restored(session: Session, event: e.FilesRestored) -> Session:
    paths = (*session.restored_files, *(file.path for file in event.files))
    return replace(session, restored_files=tuple(dict.fromkeys(paths)))


def _mode_changed(session: Session, event: e.ModeChanged) -> Session:
    turn = session.current
    before = (turn.mode if turn is not None and turn.id == event.turn else None) or session.mode
    unplanned = next((mode for mode in (event.mode, before) if mode != "plan"), session.unplanned)
    session = replace(session, unplanned=unplanned)
    if turn is None or turn.id != event.turn:
        return replace(session, mode=event.mode)
    session = replace(session, plan_mode_noted=event.mode == "plan")  # the proposing call has told it
    if turn.mode is None:
        return replace(session, mode=event.mode)
    return replace(session, current=replace(turn, mode=event.mode))


def _abandoned(session: Session, event: e.StepAbandoned) -> Session:
    if session.compression is not None and session.compression.step_id == event.step:
        return compression_rules.abandoned(session, event)
    if (job := session.helper_call(event.step)) is not None:
        return title_step.abandoned(session, job, event)
    died = event.reason == "died"
    turn = running_turn(session)
    turn = replace(turn, tally=turn.tally.with_estimate(event.estimated, event.estimated_cost_usd))
    reference = turn.reference(event.step)
    if reference is not None:
        return replace(session, current=turns.with_reference(turn, reference.abandoned(died=died)))
    call = turn.call(event.step)
    if call is not None:
        attempt = call.attempt if call.has_task else call.attempt + died
        call = replace(call.abandoned(died=died), input=call.stored_input, attempt=attempt)
        return replace(session, current=rounds.with_call(turn, call))
    turn = turn.abandoned(died=died)
    if turn.worker_crashes >= turns.MAX_WORKER_CRASHES:
        message = f"{turn.worker_crashes} workers in a row died while working on this turn."
        turn = turns.failed(turn, "worker_lost", message, "See the workers' logs, then `turns retry`.")
    return replace(session, current=turn)


def _discarded(session: Session, event: e.OutcomeDiscarded) -> Session:
    turn = session.find(event.turn)
    if turn is None or event.model == "":
        return session
    tally = turn.tally.with_response(event.usage, event.cost_usd)
    tally = tally.without_estimate(event.reserved) if event.reserved else tally
    return replace_turn(session, replace(turn, tally=tally))


def _with_response(session: Session, event: e.ResponseBooked) -> Session:
    turn = session.find(event.turn) if event.turn is not None else None
    if turn is None:
        return session
    return replace_turn(session, replace(turn, tally=turn.tally.with_outcome(event)))
