"""Effects of a turn's own events: submitted, begun, merged, resumed, ended."""

from __future__ import annotations

from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams import subscriptions
from hermes_jobs.kernel.turns import compression_rules, outside, references, reviews, title_step
from hermes_jobs.kernel.turns import turn as turns
from hermes_jobs.kernel.turns.attachments import with_heard, with_seen
from hermes_jobs.kernel.turns.messages import AssistantMessage, UserMessage
from hermes_jobs.kernel.turns.rhythm import remembered
from hermes_jobs.kernel.turns.session import EndedTurn, EndStatus, Session, replace_turn, running_turn
from hermes_jobs.kernel.turns.stops import stopped_by
from hermes_jobs.kernel.turns.synthetic_messages import (
    ACKNOWLEDGED,
    CONTINUING,
    ENDED_UNANSWERED,
    GO_ON,
    GO_ON_WITH,
    PLAN_MODE,
    RESTORED,
    STEERING_PREFIX,
    schema_note,
)
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.kernel.turns.usage_tally import EMPTY


def evolve(session: Session, event: e.TurnEvent) -> Session:  # noqa: PLR0911, PLR0912 - one case an event
    """The session after the event."""
    match event:
        case e.TurnSubmitted():
            return _submitted(session, event)
        case e.PerceptionStarted():
            return replace(session, current=running_turn(session).claimed(event.reserved))
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
            return replace_turn(session, replace(open_turn, tally=EMPTY)) if open_turn else session
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


def _submitted(session: Session, event: e.TurnSubmitted) -> Session:
    turn, session = turns.submitted(event), compression_rules.no_longer_idle(session)
    if event.opening is not None:  # a fork has its parent's, until it gets its own
        session = replace(session, opening=event.opening, mode=event.opening.mode or session.mode)
    if session.current is None:
        return replace(session, current=turn)
    first = event.if_busy == "interrupt"
    return replace(session, waiting=(turn, *session.waiting) if first else (*session.waiting, turn))


def _prefetched(session: Session, event: e.ContextPrefetched) -> Session:
    turn = turns.next_call(turns.at_once(running_turn(session).released()))
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
        cache_ttl=event.cache_ttl,
        describes=event.describes,
    )
    if event.at and session.rested_at:
        rests = remembered(session.rests, event.at - session.rested_at)
        session = replace(session, rests=rests, rested_at=0.0)
    session = replace(
        session,
        review_counters=reviews.turn_begun(
            session.review_counters, memory_interval=event.memory_nudge, skill_interval=event.skill_nudge
        ),
        listeners=subscriptions.subscribe(session.listeners, event.listeners, session.version),
    )
    notes = (schema_note(turn.answer_schema), event.note)
    said = with_heard(turn.prompt_text, () if turn.go_on else turn.attachments, event.heard)
    text = "\n\n".join((said, *filter(None, notes)))
    attachments = () if turn.go_on else with_seen(turn.attachments, event.heard)
    message = UserMessage(_with_restored(session, text), attachments)
    messages = (*session.messages, *_closing(session), message)
    session = replace(session, restored_files=(), plan_mode_noted=event.note == PLAN_MODE)
    return _with_origins(replace(session, current=turn, messages=messages), turn)


def _with_origins(session: Session, turn: Turn) -> Session:
    """The session, whose messages now hold the turn's texts, with what persons and others wrote in them."""
    return replace(
        session,
        outside=outside.joined(session.outside, turn.outside),
        typed=outside.joined(session.typed, turn.typed, outside.MAX_TYPED),
    )


def _with_restored(session: Session, text: str) -> str:
    """The text, after a note on the restored files."""
    if not session.restored_files:
        return text
    return f"{RESTORED.format(files=', '.join(session.restored_files))}\n\n{text}"


def _closing(session: Session) -> tuple[AssistantMessage, ...]:
    """The message that closes an unanswered text before a new one."""
    if not session.messages or _speaks_last(session, AssistantMessage):
        return ()
    last = session.ended.get(session.last_ended or "")
    # After an answer there may still be a note of a compression.
    return (AssistantMessage(ACKNOWLEDGED if last and last.status == "completed" else ENDED_UNANSWERED),)


def _merged(session: Session, event: e.TurnMerged) -> Session:
    """A collected text joins a turn that has not begun; a steered one joins a turn that has."""
    merged = session.find(event.turn)
    into = running_turn(session)
    assert merged is not None, f"{event.turn} is not open"
    session = replace(
        session,
        waiting=tuple(other for other in session.waiting if other.id != merged.id),
        ended=session.ended.having(merged.id, EndedTurn(status="merged", into=into.id)),
    )
    into = replace(into, deliver=tuple(dict.fromkeys((*into.deliver, *merged.deliver))))
    session = replace(session, current=into)
    if not into.started:
        go_on = into.go_on and "\n\n".join((into.go_on, *merged.texts))
        into = replace(
            into,
            attachments=into.attachments + merged.attachments,
            typed=into.typed + merged.typed,
            outside=into.outside + merged.outside,
        )
        return replace(session, current=replace(into, texts=into.texts + merged.texts, go_on=go_on))
    message = UserMessage(STEERING_PREFIX + "\n\n".join(merged.texts), merged.attachments)
    between = (AssistantMessage(CONTINUING),) if _speaks_last(session, UserMessage) else ()
    return _with_origins(replace(session, messages=(*session.messages, *between, message)), merged)


def _resumed(session: Session, event: e.TurnResumed) -> Session:
    session = compression_rules.no_longer_idle(session)
    ended = session.ended[event.turn]
    past = ended.turn
    assert past is not None, f"{event.turn} cannot be resumed"
    past = replace(
        past,
        budget_usd=past.budget_usd if event.budget_usd is None else event.budget_usd,
        model=event.model or past.model,
        ensemble=event.ensemble if event.model else past.ensemble,
        references=() if event.ensemble else past.references,
        delivered=(),
        settings={**_carried_settings(past, event), **event.settings},
        requires=event.requires if event.settings or event.requires else past.requires,
    )
    session = replace(session, ended=session.ended.without(event.turn))
    if ended.status == "completed":
        last = session.current is None and session.last_ended == past.id
        go_on = GO_ON if last else GO_ON_WITH.format(text="\n\n".join(past.texts))
        return _queued(session, turns.resume(past, at_the_tail=False, go_on=go_on))
    if session.current is None:
        has_spoken = session.last_ended != past.id or _speaks_last(session, AssistantMessage)
        turn = turns.resume(past, at_the_tail=not has_spoken)
        if turn.started and event.members:
            turn = replace(turn, references=references.of_members(event.members, turn.step_id))
        return replace(session, current=turn)
    return _queued(session, turns.resume(past, at_the_tail=False))


def _queued(session: Session, turn: Turn) -> Session:
    """The session with that turn as the running one, or the last of the waiting ones."""
    if session.current is None:
        return replace(session, current=turn)
    return replace(session, waiting=(*session.waiting, turn))


def _carried_settings(past: Turn, event: e.TurnResumed) -> dict[str, object]:
    """The settings that a resumed turn keeps; a new budget of its own replaces its limits."""
    replaced = ("budgets.turn_usd", "budgets.turn_tokens") if event.budget_usd is not None else ()
    return {key: value for key, value in past.settings.items() if key not in replaced}


def _without_open_calls(session: Session, turn: Turn) -> Session:
    """The session without tool calls that never got a result: older logs have them if a turn was cancelled
    during its model call. Texts beside them stay.
    """
    if not turn.calls:
        return session
    *before, last = session.messages
    assert isinstance(last, AssistantMessage)
    messages = (AssistantMessage(last.content),) if last.content else ()
    return replace(session, messages=(*before, *messages), current=replace(turn, calls=()))


def _ended(session: Session, turn_id: str, status: EndStatus, stop: str | None = None) -> Session:
    turn = session.find(turn_id)
    assert turn is not None, f"{turn_id} is not open"
    is_current = session.current is not None and session.current.id == turn_id
    if is_current:
        session = _without_open_calls(session, turn)
        turn = running_turn(session)
    resumable = turn if stop is not None or status in {"failed", "cancelled"} else None
    ended = session.ended.having(turn_id, EndedTurn(status=status, turn=resumable, stopped_by=stop))
    if not is_current:
        waiting = tuple(other for other in session.waiting if other.id != turn_id)
        return replace(session, waiting=waiting, ended=ended)
    session = compression_rules.turn_ended(session)
    following = session.waiting[0] if session.waiting else None
    return replace(session, current=following, waiting=session.waiting[1:], ended=ended, last_ended=turn_id)


def _rated(session: Session, event: e.TurnRated) -> Session:
    rated = replace(session.ended[event.turn], rated=event)
    return replace(session, ended=session.ended.having(event.turn, rated))


def _speaks_last(session: Session, role: type[AssistantMessage] | type[UserMessage]) -> bool:
    return bool(session.messages) and isinstance(session.messages[-1], role)
