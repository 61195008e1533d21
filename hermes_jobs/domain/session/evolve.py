"""`evolve(session, event) → session`: the effect of every event on a session's state."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, assert_never

from msgspec.structs import replace

from hermes_jobs.domain import events as e
from hermes_jobs.domain import subscriptions
from hermes_jobs.domain.gateway import news
from hermes_jobs.domain.session import (
    answer_schema,
    children,
    compression_rules,
    inputs,
    model_reply,
    references,
    review_rules,
    reviews,
    rounds,
    server_tasks,
    title_step,
)
from hermes_jobs.domain.session import turn as turns
from hermes_jobs.domain.session.call import Call
from hermes_jobs.domain.session.messages import AssistantMessage, ToolMessage, UserMessage
from hermes_jobs.domain.session.session import (
    EndedTurn,
    EndStatus,
    Session,
    append_messages,
    replace_turn,
    running_turn,
)
from hermes_jobs.domain.session.stops import stopped_by
from hermes_jobs.domain.session.synthetic_messages import (
    ACKNOWLEDGED,
    CONCLUDE,
    CONTINUING,
    ENDED_UNANSWERED,
    GO_ON,
    GO_ON_WITH,
    INTERRUPTED,
    PLAN_MODE,
    RESTORED,
    STEERING_PREFIX,
    schema_note,
)
from hermes_jobs.domain.session.titles import given_title
from hermes_jobs.domain.session.tool_results import truncate_round
from hermes_jobs.domain.session.turn import Turn
from hermes_jobs.domain.session.usage_tally import EMPTY


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
    text = news.news_of(event)
    return session.news if text is None or text in session.news else (*session.news, text)


def _apply(session: Session, event: e.SessionEvent) -> Session:  # noqa: PLR0911, PLR0912, PLR0915 - one line an event
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
        case e.ModelChanged():
            return replace(session, model=event.model)
        case e.ModeChanged():
            return replace(session, mode=event.mode)
        case e.TodosWritten():
            return replace(session, todos=event.items)
        case e.TurnSubmitted():
            return _submitted(session, event)
        case e.ContextPrefetched():
            return _prefetched(session, event)
        case e.TurnPostponed():
            return replace(session, current=turns.postponed(running_turn(session), event))
        case e.TurnMerged():
            return _merged(session, event)
        case e.TurnResumed():
            return _resumed(session, event)
        case e.WaitEnded():
            waiting = session.find(event.turn)
            return replace_turn(session, turns.moved(waiting, event.model)) if waiting else session
        case e.TurnCancelRequested():
            return replace(session, current=replace(running_turn(session), cancelled_by=event.by))
        case e.UsageRecorded():
            open_turn = session.find(event.turn)
            return replace_turn(session, replace(open_turn, books=EMPTY)) if open_turn else session
        case e.TurnCompleted():
            done = _ended(session, event.turn, "completed", event.stopped_by)
            return title_step.turn_completed(done, session.find(event.turn))
        case e.TurnFailed():
            return _ended(session, event.turn, "failed", stopped_by(event))
        case e.TurnCancelled():
            return _ended(session, event.turn, "cancelled")
        case e.TurnLabelled():
            return replace(session, labels={**session.labels, event.turn: event.labels})
        case e.TurnRated():
            return _rated(session, event)
        case e.ModelCallStarted():
            running = replace(running_turn(session).claimed(event.reserved), quota_until=0.0)
            return replace(session, current=running)
        case e.ModelReplied():
            return model_reply.replied(session, event)
        case e.AnswerRejected():
            return answer_schema.rejected(session, event)
        case e.ModelCallFailed():
            return model_reply.call_failed(session, event)
        case e.ReferenceStarted() | e.ReferenceReplied() | e.ReferenceFailed():
            return _referred(session, event)
        case e.ToolStarted():
            return _on_call(session, event.call, running=True, reserved=event.reserved)
        case e.ToolFinished():
            session = _saved(session, event) if event.ok else session
            ended = {"source": event.source, "invalid": event.invalid, "failed": not event.ok}
            return _answered(session, event.call, event.content, refused=event.refused, **ended)
        case e.ToolInterrupted():
            return _answered(session, event.call, INTERRUPTED[event.reason], failed=True)
        case e.ApprovalRequested():
            waits = {"expires_at": event.expires_at, "offer": event.offer, "rule": event.rule}
            return _on_call(session, event.call, approval="waiting", **waits)
        case e.ApprovalGiven():
            if event.scope == "session" and event.calls is not None:
                session = replace(session, approved=(*session.approved, event.calls))
            return _on_call(session, event.call, approval="given", expires_at=0.0)
        case e.ApprovalDenied():
            return _on_call(session, event.call, approval="none")
        case e.InputRequested() | e.InputAnswered():
            return inputs.evolve(session, event)
        case e.ServerTaskBegun() | e.ServerTaskPolled():
            return server_tasks.evolve(session, event)
        case e.StepAbandoned():
            return _abandoned(session, event)
        case e.OutcomeDiscarded():
            return _discarded(session, event)
        case e.ResponseBooked():
            return _booked(session, event)
        case (
            e.ContextPressure()
            | e.CompressionRequested()
            | e.CompressionStarted()
            | e.ContextFlushed()
            | e.ContextCompressed()
            | e.CompressionFailed()
        ):
            return compression_rules.evolve(session, event)
        case e.ReviewRequested() | e.ReviewStarted() | e.ReviewCompleted() | e.ReviewFailed():
            return review_rules.evolve(session, event)
        case e.TitleStarted() | e.TitleEnded():
            return title_step.evolve(session, event)
        case e.FilesRestored():
            return _restored(session, event)
        case e.ChildrenStarted() | e.ChildEnded() | e.TurnReleased():
            return children.evolve(session, event)
        case e.FileWritten() | e.ListenerTold() | e.BudgetWarned():
            return session
        case _:
            assert_never(event)


def _submitted(session: Session, event: e.TurnSubmitted) -> Session:
    turn = turns.submitted(event)
    if event.opening is not None:  # a fork has that of its parent, until it gets its own
        session = replace(session, opening=event.opening, mode=event.opening.mode or session.mode)
    if session.current is None:
        return replace(session, current=turn)
    first = event.if_busy == "interrupt"
    return replace(session, waiting=(turn, *session.waiting) if first else (*session.waiting, turn))


def _prefetched(session: Session, event: e.ContextPrefetched) -> Session:
    turn = turns.next_call(turns.at_once(running_turn(session)))
    turn = replace(
        turn,
        started=True,
        ensemble=event.ensemble,
        references=references.of_members(event.members, turn.step_id) or turn.references,
        model=event.model,
        max_iterations=event.max_iterations,
        result_chars=event.result_chars,
        turn_chars=event.turn_chars,
        preview_chars=event.preview_chars,
        max_refusals=event.max_refusals,
        prompt_text=running_turn(session).go_on or "\n\n".join(running_turn(session).texts),
        recalled=event.recalled,
    )
    session = replace(
        session,
        review_counters=reviews.turn_begun(
            session.review_counters, memory_interval=event.memory_nudge, skill_interval=event.skill_nudge
        ),
        listeners=subscriptions.subscribe(session.listeners, event.listeners, session.version),
    )
    notes = (schema_note(turn.answer_schema), event.note)
    asked = "\n\n".join((turn.prompt_text, *filter(None, notes)))
    said = UserMessage(_with_restored(session, asked))
    messages = (*session.messages, *_closing(session), said)
    session = replace(session, restored_files=(), plan_mode_noted=event.note == PLAN_MODE)
    return replace(session, current=turn, messages=messages)


def _restored(session: Session, event: e.FilesRestored) -> Session:
    paths = (*session.restored_files, *(each.path for each in event.files))
    return replace(session, restored_files=tuple(dict.fromkeys(paths)))


def _with_restored(session: Session, asked: str) -> str:
    """The text, after a note on the files that the model knows in another state."""
    if not session.restored_files:
        return asked
    return f"{RESTORED.format(files=', '.join(session.restored_files))}\n\n{asked}"


def _closing(session: Session) -> tuple[AssistantMessage, ...]:
    """A message between the last text and a new request, where the last one was not the model's."""
    if not session.messages or _speaks_last(session, AssistantMessage):
        return ()
    last = session.ended.get(session.last_ended or "")
    # After an answer there may still be a note left by a compression.
    return (AssistantMessage(ACKNOWLEDGED if last and last.status == "completed" else ENDED_UNANSWERED),)


def _merged(session: Session, event: e.TurnMerged) -> Session:
    """A collected text joins a turn that has not begun; a steered one joins a turn that has."""
    merged = session.find(event.turn)
    into = running_turn(session)
    assert merged is not None, f"{event.turn} is not open"
    session = replace(
        session,
        waiting=tuple(each for each in session.waiting if each.id != merged.id),
        ended={**session.ended, merged.id: EndedTurn(status="merged", into=into.id)},
    )
    into = replace(into, deliver=tuple(dict.fromkeys((*into.deliver, *merged.deliver))))
    session = replace(session, current=into)
    if not into.started:
        go_on = into.go_on and "\n\n".join((into.go_on, *merged.texts))
        return replace(session, current=replace(into, texts=into.texts + merged.texts, go_on=go_on))
    heard = UserMessage(STEERING_PREFIX + "\n\n".join(merged.texts))
    between = (AssistantMessage(CONTINUING),) if _speaks_last(session, UserMessage) else ()
    return replace(session, messages=(*session.messages, *between, heard))


def _resumed(session: Session, event: e.TurnResumed) -> Session:
    ended = session.ended[event.turn]
    past = ended.turn
    assert past is not None, f"{event.turn} cannot be resumed"
    past = replace(
        past,
        budget_usd=past.budget_usd if event.budget_usd is None else event.budget_usd,
        model=event.model or past.model,
        ensemble=event.ensemble if event.model else past.ensemble,
        references=() if event.ensemble else past.references,
        settings={**_carried_settings(past, event), **event.settings},
        requires=event.requires if event.settings or event.requires else past.requires,
    )
    rest = {turn: ended for turn, ended in session.ended.items() if turn != event.turn}
    session = replace(session, ended=rest)
    if ended.status == "completed":
        last = session.current is None and session.last_ended == past.id
        go_on = GO_ON if last else GO_ON_WITH.format(text="\n\n".join(past.texts))
        return _queued(session, turns.resume(past, at_the_tail=False, go_on=go_on))
    if session.current is None:
        said_since = session.last_ended != past.id or _speaks_last(session, AssistantMessage)
        turn = turns.resume(past, at_the_tail=not said_since)
        if turn.started and event.members:
            turn = replace(turn, references=references.of_members(event.members, turn.step_id))
        return replace(session, current=turn)
    return _queued(session, turns.resume(past, at_the_tail=False))


def _queued(session: Session, turn: Turn) -> Session:
    """The session with that turn as the running one, or behind those that wait."""
    if session.current is None:
        return replace(session, current=turn)
    return replace(session, waiting=(*session.waiting, turn))


def _carried_settings(past: Turn, event: e.TurnResumed) -> dict[str, object]:
    """The settings that a resumed turn keeps; a new budget of its own replaces its limits."""
    replaced = ("budgets.turn_usd", "budgets.turn_tokens") if event.budget_usd is not None else ()
    return {key: value for key, value in past.settings.items() if key not in replaced}


def _without_open_calls(session: Session, turn: Turn) -> Session:
    """The session without calls that never got a result: older logs have them where a turn was cancelled
    during its model call. Texts beside them stay.
    """
    if not turn.calls:
        return session
    *before, asked = session.messages
    assert isinstance(asked, AssistantMessage)
    said = (AssistantMessage(asked.content),) if asked.content else ()
    return replace(session, messages=(*before, *said), current=replace(turn, calls=()))


def _ended(session: Session, turn_id: str, status: EndStatus, stop: str | None = None) -> Session:
    turn = session.find(turn_id)
    assert turn is not None, f"{turn_id} is not open"
    is_current = session.current is not None and session.current.id == turn_id
    if is_current:
        session = _without_open_calls(session, turn)
        turn = running_turn(session)
    kept = turn if stop is not None or status in {"failed", "cancelled"} else None
    ended = {**session.ended, turn_id: EndedTurn(status=status, turn=kept, stopped_by=stop)}
    if not is_current:
        waiting = tuple(each for each in session.waiting if each.id != turn_id)
        return replace(session, waiting=waiting, ended=ended)
    session = compression_rules.turn_ended(session)
    following = session.waiting[0] if session.waiting else None
    return replace(session, current=following, waiting=session.waiting[1:], ended=ended, last_ended=turn_id)


def _rated(session: Session, event: e.TurnRated) -> Session:
    rated = replace(session.ended[event.turn], rated=event)
    return replace(session, ended={**session.ended, event.turn: rated})


def _answered(session: Session, call_id: str, content: str, **ended: Any) -> Session:
    turn = running_turn(session)
    call = _call(turn, call_id)
    call = replace(call, running=False, result=content, **ended)
    turn = rounds.with_call(turn, call)
    if not rounds.round_is_complete(turn):
        return replace(session, current=turn)
    calls = truncate_round(turn.calls, turn.turn_chars, turn.preview_chars)
    results = (
        ToolMessage(each.request.id, each.request.name, each.result or "", each.failed) for each in calls
    )
    closed = rounds.round_closed(turn)
    nudge = (
        (UserMessage(CONCLUDE[closed.finalizing_because]),)
        if closed.finalizing and not turn.finalizing
        else ()
    )
    return append_messages(session, closed, *results, *nudge)


def _saved(session: Session, event: e.ToolFinished) -> Session:
    """A successful call, counted towards the next review."""
    turn = running_turn(session)
    asked = _call(turn, event.call).request
    if asked.name in reviews.SAVING:
        session = replace(session, current=replace(turn, saves=(*turn.saves, reviews.saved_by(asked))))
    return replace(session, review_counters=reviews.tool_used(session.review_counters, asked.name))


def _referred(
    session: Session, event: e.ReferenceStarted | e.ReferenceReplied | e.ReferenceFailed
) -> Session:
    """The session after an event of a reference; the last one adds all answers to the conversation."""
    turn = running_turn(session)
    asked = turn.reference(event.step)
    assert asked is not None, f"{event.step} is not a reference of {turn.id}"
    if isinstance(event, e.ReferenceStarted):
        return replace(session, current=turns.with_reference(turn, asked.claimed(event.reserved)))
    books = turn.books
    if event.model:  # else it was refused before it was made
        books = books.with_outcome(event)
    if isinstance(event, e.ReferenceReplied):
        asked = references.replied(asked, event.content)
    else:
        asked = references.failed(asked, event)
    turn = turns.with_reference(replace(turn, books=books), asked)
    if turn.open_references:
        return replace(session, current=turn)
    text = references.message(turn.references, turn.turn_chars)
    return append_messages(session, turn, AssistantMessage(references.BEFORE), UserMessage(text))


def _abandoned(session: Session, event: e.StepAbandoned) -> Session:
    if session.compression is not None and session.compression.step_id == event.step:
        return compression_rules.abandoned(session, event)
    if title_step.is_step(session, event.step):
        return title_step.abandoned(session, event)
    died = event.reason == "died"
    turn = running_turn(session)
    turn = replace(turn, books=turn.books.with_estimate(event.estimated, event.estimated_cost_usd))
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
    books = turn.books.booked(event.usage, event.cost_usd)
    books = books.without_estimate(event.reserved) if event.reserved else books
    return replace_turn(session, replace(turn, books=books))


def _booked(session: Session, event: e.ResponseBooked) -> Session:
    turn = session.find(event.turn) if event.turn is not None else None
    if turn is None:
        return session
    return replace_turn(session, replace(turn, books=turn.books.with_outcome(event)))


def _call(turn: Turn, call_id: str) -> Call:
    call = turn.call(call_id)
    assert call is not None, f"{call_id} is not in the open round of {turn.id}"
    return call


def _speaks_last(session: Session, role: type[AssistantMessage] | type[UserMessage]) -> bool:
    return bool(session.messages) and isinstance(session.messages[-1], role)


def _on_call(session: Session, call_id: str, **changes: object) -> Session:
    turn = running_turn(session)
    return replace(session, current=rounds.with_call(turn, replace(_call(turn, call_id), **changes)))
