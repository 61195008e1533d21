"""`evolve(session, event) → session`: the one place that says what each fact means for a session."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import assert_never

from msgspec.structs import replace

from hermes_jobs.domain import compressing, listening, reviewing, reviews
from hermes_jobs.domain import events as e
from hermes_jobs.domain import turn as turns
from hermes_jobs.domain.books import CLOSED
from hermes_jobs.domain.messages import AssistantMessage, ToolMessage, UserMessage
from hermes_jobs.domain.results import fitted
from hermes_jobs.domain.session import EndedTurn, EndStatus, Session
from hermes_jobs.domain.turn import Call, Turn

NO_ANSWER = "(no answer)"
ENDED_UNANSWERED = "(This request ended before it was answered.)"
ASK_AGAIN = "Your answer was empty. Please answer the request, or say what keeps you from it."
CONTINUE = "You were cut off by the output limit. Go on exactly where you stopped; repeat nothing."
CONCLUDE: dict[turns.ClosingReason, str] = {
    "max_iterations": (
        "You have used all the tool calls that this request may take. Call no more tools: "
        "answer now from what you have, and say what is still open."
    ),
    "loop_guard": (
        "You are repeating a call that does not get you further. Call no more tools: "
        "answer now from what you have, and say what is still open."
    ),
}
NUDGES = frozenset({ASK_AGAIN, CONTINUE, *CONCLUDE.values()})
"""What the agent is told in the user's place."""
STEERED = "[The user adds, while you work]\n"
GO_ON = "(I am on it.)"
STOPPED_WITHOUT_WORDS: dict[turns.ClosingReason, str] = {
    "max_iterations": "I stopped at the limit of tool calls for one request, without a closing answer.",
    "loop_guard": "I stopped because I was repeating the same tool call, without a closing answer.",
}
INTERRUPTED: dict[e.InterruptReason, str] = {
    "cancelled": "Interrupted: the request was cancelled before this call had finished.",
    "unknown_outcome": (
        "Interrupted: the process that ran this call died. The outcome is unknown: it may have happened, "
        "partly or not at all. Look before you repeat it."
    ),
    "worker_lost": "Error: every worker that ran this call died while doing so. Do not repeat it as it is.",
}


def fold(session: Session, facts: Iterable[e.SessionEvent]) -> Session:
    """The session after those facts, in order."""
    return reduce(evolve, facts, session)


def evolve(session: Session, event: e.SessionEvent) -> Session:
    """The session after one more fact."""
    version = session.version + 1
    session = _apply(session, event)
    return replace(session, version=version, listeners=listening.after(session.listeners, event, version))


def _apply(session: Session, event: e.SessionEvent) -> Session:  # noqa: PLR0911, PLR0912 - one line a fact
    match event:
        case e.SessionStarted():
            origin = session.forked_from if event.at is None else event.parent
            return replace(session, started=event, model=event.model, ended_because=None, forked_from=origin)
        case e.SessionTitled():
            return replace(session, title=event.title)
        case e.SessionEnded():
            return replace(session, ended_because=event.reason)
        case e.ModelChanged():
            return replace(session, model=event.model)
        case e.TodosWritten():
            return replace(session, todos=event.items)
        case e.TurnSubmitted():
            return _submitted(session, event)
        case e.ContextPrefetched():
            return _prefetched(session, event)
        case e.TurnMerged():
            return _merged(session, event)
        case e.TurnResumed():
            return _resumed(session, event)
        case e.TurnCancelRequested():
            return _on_current(session, replace(_current(session), cancelled_by=event.by))
        case e.UsageRecorded():
            open_turn = session.find(event.turn)
            return _with_open(session, replace(open_turn, books=CLOSED)) if open_turn else session
        case e.TurnCompleted():
            return _ended(session, event.turn, "completed")
        case e.TurnFailed():
            return _ended(session, event.turn, "failed")
        case e.TurnCancelled():
            return _ended(session, event.turn, "cancelled")
        case e.ModelCallStarted():
            return _on_current(session, replace(_current(session), running=True, reserved=event.reserved))
        case e.ModelReplied():
            return _replied(session, event)
        case e.ModelCallFailed():
            return _on_current(session, turns.call_failed(_current(session), event))
        case e.ToolStarted():
            return _on_call(session, event.call, running=True)
        case e.ToolFinished():
            session = _saved(session, event) if event.ok else session
            return _answered(session, event.call, event.content, source=event.source, invalid=event.invalid)
        case e.ToolInterrupted():
            return _answered(session, event.call, INTERRUPTED[event.reason])
        case e.ApprovalRequested():
            return _on_call(session, event.call, approval="waiting", expires_at=event.expires_at)
        case e.ApprovalGiven():
            return _on_call(session, event.call, approval="given", expires_at=0.0)
        case e.ApprovalDenied():
            return _on_call(session, event.call, approval="none")
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
            return compressing.evolve(session, event)
        case e.ReviewRequested() | e.ReviewStarted() | e.ReviewCompleted() | e.ReviewFailed():
            return reviewing.evolve(session, event)
        case e.ListenerTold():
            return session
        case _:
            assert_never(event)


def _submitted(session: Session, event: e.TurnSubmitted) -> Session:
    turn = turns.submitted(event)
    session = replace(session, opening=session.opening or event.opening)
    if session.current is None:
        return replace(session, current=turn)
    first = event.if_busy == "interrupt"
    return replace(session, waiting=(turn, *session.waiting) if first else (*session.waiting, turn))


def _prefetched(session: Session, event: e.ContextPrefetched) -> Session:
    turn = replace(
        turns.next_call(_current(session)),
        begun=True,
        model=event.model,
        max_iterations=event.max_iterations,
        result_chars=event.result_chars,
        turn_chars=event.turn_chars,
        preview_chars=event.preview_chars,
        asked="\n\n".join(_current(session).texts),
        recalled=event.recalled,
    )
    session = replace(
        session,
        nudges=reviews.turn_begun(
            session.nudges, memory_interval=event.memory_nudge, skill_interval=event.skill_nudge
        ),
        listeners=listening.named(session.listeners, event.listeners, session.version),
    )
    unanswered = session.messages and not _speaks_last(session, AssistantMessage)
    closing = (AssistantMessage(ENDED_UNANSWERED),) if unanswered else ()
    said = UserMessage(turn.asked)
    return replace(session, current=turn, messages=(*session.messages, *closing, said))


def _merged(session: Session, event: e.TurnMerged) -> Session:
    """A collected text joins a turn that has not begun; a steered one is heard by a turn that has."""
    merged = session.find(event.turn)
    into = _current(session)
    assert merged is not None, f"{event.turn} is not open"
    session = replace(
        session,
        waiting=tuple(each for each in session.waiting if each.id != merged.id),
        ended={**session.ended, merged.id: EndedTurn(status="merged", into=into.id)},
    )
    into = replace(into, deliver=tuple(dict.fromkeys((*into.deliver, *merged.deliver))))
    session = _on_current(session, into)
    if not into.begun:
        return _on_current(session, replace(into, texts=into.texts + merged.texts))
    heard = UserMessage(STEERED + "\n\n".join(merged.texts))
    between = (AssistantMessage(GO_ON),) if _speaks_last(session, UserMessage) else ()
    return replace(session, messages=(*session.messages, *between, heard))


def _resumed(session: Session, event: e.TurnResumed) -> Session:
    past = session.ended[event.turn].turn
    assert past is not None, f"{event.turn} cannot be resumed"
    past = replace(past, budget_usd=past.budget_usd if event.budget_usd is None else event.budget_usd)
    rest = {turn: ended for turn, ended in session.ended.items() if turn != event.turn}
    session = replace(session, ended=rest)
    if session.current is None:
        said_since = session.last_ended != past.id or _speaks_last(session, AssistantMessage)
        return replace(session, current=turns.resumed(past, at_the_tail=not said_since))
    return replace(session, waiting=(*session.waiting, turns.resumed(past, at_the_tail=False)))


def _ended(session: Session, turn_id: str, status: EndStatus) -> Session:
    turn = session.find(turn_id)
    assert turn is not None, f"{turn_id} is not open"
    kept = turn if status in {"failed", "cancelled"} else None
    ended = {**session.ended, turn_id: EndedTurn(status=status, turn=kept)}
    if session.current is None or session.current.id != turn_id:
        waiting = tuple(each for each in session.waiting if each.id != turn_id)
        return replace(session, waiting=waiting, ended=ended)
    session = compressing.turn_ended(session)
    following = session.waiting[0] if session.waiting else None
    return replace(session, current=following, waiting=session.waiting[1:], ended=ended, last_ended=turn_id)


def _replied(session: Session, event: e.ModelReplied) -> Session:
    session = compressing.measured(session, event)
    turn = _current(session)
    books = turn.books.booked(event.usage, event.cost_usd)
    books = books.with_estimate(event.estimated, event.estimated_cost_usd)
    turn = replace(turn, books=books, running=False, reserved=None)
    if turn.cancelled_by is not None:
        said = (AssistantMessage(event.content),) if event.content else ()
        return _say(session, turn, *said)
    cut = event.finish_reason == "length"
    if event.tool_calls and not turn.closing:
        if cut:
            return _enlarge(session, turn)
        asked = AssistantMessage(event.content, event.tool_calls)
        session = replace(session, nudges=reviews.round_opened(session.nudges))
        return _say(session, turns.round_opened(turn, event), asked)
    if cut and event.content and turn.continuations < turns.MAX_CONTINUATIONS:
        turn = replace(
            turns.next_call(turn),
            partial=turn.partial + event.content,
            continuations=turn.continuations + 1,
        )
        return _say(session, turn, AssistantMessage(event.content), UserMessage(CONTINUE))
    answer = turn.partial + event.content
    if not answer.strip():
        if turn.closing:
            words = STOPPED_WITHOUT_WORDS[turn.closing_because]
            return _answer(session, turn, words, words, turn.closing_because)
        return _ask_again(session, turn)
    stopped_by = turn.closing_because if turn.closing else "length" if cut else None
    return _answer(session, turn, event.content or NO_ANSWER, answer, stopped_by)


def _answer(session: Session, turn: Turn, said: str, answer: str, stopped_by: str | None) -> Session:
    done = replace(turn, answer=answer, stopped_by=stopped_by, attempt=1, deaths=0, retry_at=0.0)
    return _say(session, done, AssistantMessage(said))


def _ask_again(session: Session, turn: Turn) -> Session:
    if turn.reasks >= turns.MAX_REASKS:
        message = f"The model gave an empty answer {turn.reasks + 1} times in a row."
        hint = "Try again with `hermes-jobs turns retry`, or with another model."
        return _on_current(session, turns.failed(turn, "empty_answer", message, hint))
    again = replace(turns.next_call(turn), reasks=turn.reasks + 1)
    return _say(session, again, AssistantMessage(NO_ANSWER), UserMessage(ASK_AGAIN))


def _enlarge(session: Session, turn: Turn) -> Session:
    """Cut arguments are never run: the same is asked for again, with room for more."""
    if turn.enlargements >= turns.MAX_ENLARGEMENTS:
        message = "The model's tool calls were cut off by the output limit, also with a larger one."
        hint = "Raise model.max_tokens, or ask for less at once."
        return _on_current(session, turns.failed(turn, "output_limit", message, hint))
    return _on_current(session, replace(turns.next_call(turn), enlargements=turn.enlargements + 1))


def _answered(
    session: Session, call_id: str, content: str, *, source: str | None = None, invalid: bool = False
) -> Session:
    turn = _current(session)
    call = _call(turn, call_id)
    call = replace(call, running=False, result=content, source=source, invalid=invalid)
    turn = turns.with_call(turn, call)
    if not turns.round_is_complete(turn):
        return _on_current(session, turn)
    calls = fitted(turn.calls, turn.turn_chars, turn.preview_chars)
    results = (ToolMessage(each.asked.id, each.asked.name, each.result or "") for each in calls)
    closed = turns.round_closed(turn)
    nudge = (UserMessage(CONCLUDE[closed.closing_because]),) if closed.closing and not turn.closing else ()
    return _say(session, closed, *results, *nudge)


def _saved(session: Session, event: e.ToolFinished) -> Session:
    """A call that has worked, seen by who counts what the agent saves."""
    turn = _current(session)
    tool = _call(turn, event.call).asked.name
    saves = int(tool in reviews.SAVING)
    session = _on_current(session, replace(turn, num_saves=turn.num_saves + saves))
    return replace(session, nudges=reviews.tool_used(session.nudges, tool))


def _abandoned(session: Session, event: e.StepAbandoned) -> Session:
    if session.compression is not None and session.compression.step_id == event.step:
        return compressing.abandoned(session, event)
    turn = _current(session)
    died = int(event.reason == "died")
    call = turn.call(event.step)
    if call is not None:
        call = replace(call, running=False, attempt=call.attempt + died, deaths=call.deaths + died)
        return _on_current(session, turns.with_call(turn, call))
    turn = replace(
        turn,
        books=turn.books.with_estimate(event.estimated, event.estimated_cost_usd),
        running=False,
        reserved=None,
        attempt=turn.attempt + died,
        deaths=turn.deaths + died,
    )
    if turn.deaths >= turns.MAX_DEATHS:
        message = f"{turn.deaths} workers in a row died while working on this turn."
        turn = turns.failed(turn, "worker_lost", message, "See the workers' logs, then `turns retry`.")
    return _on_current(session, turn)


def _discarded(session: Session, event: e.OutcomeDiscarded) -> Session:
    turn = session.find(event.turn)
    if turn is None or event.model == "":
        return session
    books = turn.books.booked(event.usage, event.cost_usd)
    books = books.without_estimate(event.reserved) if event.reserved else books
    return _with_open(session, replace(turn, books=books))


def _booked(session: Session, event: e.ResponseBooked) -> Session:
    turn = session.find(event.turn) if event.turn is not None else None
    if turn is None:
        return session
    return _with_open(session, replace(turn, books=turn.books.booked(event.usage, event.cost_usd)))


def _current(session: Session) -> Turn:
    assert session.current is not None, f"{session.stream} has no running turn at version {session.version}"
    return session.current


def _call(turn: Turn, call_id: str) -> Call:
    call = turn.call(call_id)
    assert call is not None, f"{call_id} is not in the open round of {turn.id}"
    return call


def _speaks_last(session: Session, role: type[AssistantMessage] | type[UserMessage]) -> bool:
    return bool(session.messages) and isinstance(session.messages[-1], role)


def _on_current(session: Session, turn: Turn) -> Session:
    return replace(session, current=turn)


def _with_open(session: Session, turn: Turn) -> Session:
    if session.current is not None and session.current.id == turn.id:
        return replace(session, current=turn)
    return replace(session, waiting=tuple(turn if each.id == turn.id else each for each in session.waiting))


def _on_call(session: Session, call_id: str, **changes: object) -> Session:
    turn = _current(session)
    return _on_current(session, turns.with_call(turn, replace(_call(turn, call_id), **changes)))


def _say(session: Session, turn: Turn, *said: AssistantMessage | UserMessage | ToolMessage) -> Session:
    return replace(session, current=turn, messages=(*session.messages, *said))
