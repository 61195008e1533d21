"""Effects of the calls of models and tools on the running turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import answer_schema, model_reply, outside, references, reviews, rounds
from hermes_jobs.kernel.turns import turn as turns
from hermes_jobs.kernel.turns.call import Call
from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolMessage, UserMessage
from hermes_jobs.kernel.turns.session import Session, append_messages, running_turn
from hermes_jobs.kernel.turns.synthetic_messages import CONCLUDE, INTERRUPTED
from hermes_jobs.kernel.turns.tool_results import truncate_round
from hermes_jobs.kernel.turns.turn import Turn


def evolve(session: Session, event: e.CallEvent) -> Session:  # noqa: PLR0911 - one case an event
    """The session after the event."""
    match event:
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
            also = {"refused": event.refused, "attachments": event.attachments, "outside": event.outside}
            return _answered(session, event.call, event.content, **ended, **also)
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


def _answered(session: Session, call_id: str, content: str, **ended: Any) -> Session:
    turn = running_turn(session)
    call = _call(turn, call_id)
    call = replace(call, running=False, result=content, **ended)
    turn = rounds.with_call(turn, call)
    if not rounds.round_is_complete(turn):
        return replace(session, current=turn)
    calls = truncate_round(turn.calls, turn.turn_chars, turn.preview_chars)
    results = (
        ToolMessage(call.request.id, call.request.name, call.result or "", call.failed, call.attachments)
        for call in calls
    )
    session = replace(session, outside=outside.joined(session.outside, _origins(calls)))
    closed = rounds.round_closed(turn)
    nudge = (
        (UserMessage(CONCLUDE[closed.finalizing_because]),)
        if closed.finalizing and not turn.finalizing
        else ()
    )
    return append_messages(session, closed, *results, *nudge)


def _origins(calls: Iterable[Call]) -> Iterator[str]:
    """The origins of outside text in results. The calls of the same reply were written without it."""
    for call in calls:
        yield call.outside
        for end in call.child_ends:
            yield from end.outside


def _saved(session: Session, event: e.ToolFinished) -> Session:
    """A successful call, counted towards the next review."""
    turn = running_turn(session)
    request = _call(turn, event.call).request
    if request.name in reviews.SAVING:
        session = replace(session, current=replace(turn, saves=(*turn.saves, reviews.saved_by(request))))
    return replace(session, review_counters=reviews.tool_used(session.review_counters, request.name))


def _referred(session: Session, event: e.ReferenceEvent) -> Session:
    """The session after an event of a reference; the last one adds all answers to the conversation."""
    turn = running_turn(session)
    reference = turn.reference(event.step)
    assert reference is not None, f"{event.step} is not a reference of {turn.id}"
    if isinstance(event, e.ReferenceStarted):
        return replace(session, current=turns.with_reference(turn, reference.claimed(event.reserved)))
    tally = turn.tally
    if event.model:  # else it was refused without a call
        tally = tally.with_outcome(event)
    if isinstance(event, e.ReferenceReplied):
        reference = references.replied(reference, event.content)
    else:
        reference = references.failed(reference, event)
    turn = turns.with_reference(replace(turn, tally=tally), reference)
    if turn.open_references:
        return replace(session, current=turn)
    text = references.message(turn.references, turn.turn_chars)
    return append_messages(session, turn, AssistantMessage(references.BEFORE), UserMessage(text))


def _call(turn: Turn, call_id: str) -> Call:
    call = turn.call(call_id)
    assert call is not None, f"{call_id} is not in the open round of {turn.id}"
    return call


def _on_call(session: Session, call_id: str, **changes: object) -> Session:
    turn = running_turn(session)
    return replace(session, current=rounds.with_call(turn, replace(_call(turn, call_id), **changes)))
