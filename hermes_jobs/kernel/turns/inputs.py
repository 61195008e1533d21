"""Input that an MCP server or the agent asks for during a tool call: requested, answered, expired.

A call that waits is due when the wait expires; the last answer makes it due at once, and it is made again
with the answers. A live one is under way: its worker waits, and passes the answers on.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected, StepLost
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns import forms
from hermes_jobs.kernel.turns.call import Call, OpenInput
from hermes_jobs.kernel.turns.rounds import with_call
from hermes_jobs.kernel.turns.session import Session, require_open_turn, running_turn
from hermes_jobs.kernel.turns.steps import require_due
from hermes_jobs.kernel.turns.turn import Turn

MAX_ROUNDS = 10
"""The number of times that a server may ask in one call; the SDKs have the same limit."""


# --- effects of events --------------------------------------------------------------------------


def evolve(session: Session, event: e.InputEvent) -> Session:
    """The session after the event."""
    turn = running_turn(session)
    call = turn.call(event.call)
    assert call is not None, f"{event.call} is not in the open round of {turn.id}"
    match event:
        case e.InputRequested():
            rounds = call.input.rounds + 1 if call.input is not None else 1
            call = replace(call, input=OpenInput(request=event, rounds=rounds))
            if not event.live:
                again = call.attempt + (not call.has_task)  # a task is not called again
                call = replace(call.released(), attempt=again, worker_crashes=0)
        case e.InputAnswered():
            assert call.input is not None, f"{event.call} asks for nothing"
            call = replace(call, input=replace(call.input, answers=(*call.input.answers, event)))
    return replace(session, current=with_call(turn, call))


# --- decisions ----------------------------------------------------------------------------------


def request(command: c.RequestInput, session: Session) -> Iterator[e.SessionEvent]:
    """The request, with the answers that need no user; nothing if the turn is being cancelled. Raises
    `StepLost` if a live call is no longer running."""
    turn, call = _under_way(command, session)
    if turn.cancelled_by is not None:
        if not command.live and not call.has_task:
            yield e.ToolInterrupted(turn=turn.id, call=call.id, reason="cancelled", attempt=call.attempt)
        return
    yield e.InputRequested(
        turn=turn.id,
        call=call.id,
        server=command.server,
        requests=command.requests,
        expires_at=command.expires_at,
        state=command.state,
        live=command.live,
    )
    for input_request in command.requests:
        if input_request.refusal or not (turn.is_attended or command.unattended):
            by = "policy" if input_request.refusal else "unattended"
            yield e.InputAnswered(turn=turn.id, call=call.id, key=input_request.key, action="decline", by=by)


def answer(command: c.AnswerInput, session: Session) -> Iterator[e.SessionEvent]:
    """Answer one request. Raises `Rejected` if none waits, it is too late, or the answer is invalid."""
    call, open_request = waiting_request(session, command)
    assert call.input is not None
    if command.by != "timeout" and call.input.request.expires_at <= command.now:
        raise Rejected(
            f"The call {call.id} was not answered in time.",
            kind="expired",
            hint=f"See what became of it: hermes-jobs turns show {command.turn}",
        )
    content = ""
    if command.action == "accept" and not open_request.url:
        content = forms.checked(open_request.fields, command.content)
    elif command.content:
        raise Rejected("Only an accepted form has fields.", kind="usage")
    yield e.InputAnswered(
        turn=command.turn,
        call=call.id,
        key=open_request.key,
        action=command.action,
        by=command.by,
        content=content,
    )


def expire(command: c.ExpireInput, session: Session) -> Iterator[e.SessionEvent]:
    """End the wait: the requests were not answered in time, which the repeated call reports to the server."""
    _, turn = require_due(session, command.step)
    call = turn.call(command.step)
    if call is None or call.input is None:
        return
    for unanswered in call.input.unanswered:
        yield e.InputAnswered(turn=turn.id, call=call.id, key=unanswered.key, action="cancel", by="timeout")


def _under_way(command: c.RequestInput, session: Session) -> tuple[Turn, Call]:
    if not command.live:
        _, turn = require_due(session, command.step)
    elif session.current is None:
        raise StepLost(f"the call {command.step} is not under way in {session.stream}")
    else:
        turn = session.current
    call = turn.call(command.step)
    if (
        call is None
        or not (call.running or call.has_task)
        or (command.live and call.attempt != command.attempt)
    ):
        raise StepLost(f"the call {command.step} is not under way in {session.stream}")
    return turn, call


def waiting_request(session: Session, command: c.AnswerInput) -> tuple[Call, e.InputRequest]:
    """The call and the request that the command answers. Raises `Rejected`."""
    turn = require_open_turn(session, command.turn)
    waiting_calls = [
        (call, unanswered)
        for call in turn.calls
        if call.input is not None and call.waits_for_input
        for unanswered in call.input.unanswered
        if command.call in {None, call.id} and command.key in {None, unanswered.key}
    ]
    if not waiting_calls:
        raise _not_waiting(turn, command)
    if len({call.id for call, _ in waiting_calls}) > 1:
        names = ", ".join(dict.fromkeys(call.id for call, _ in waiting_calls))
        raise Rejected(
            f"Several calls of turn {turn.id} wait for input: {names}.",
            kind="ambiguous",
            hint="Name one with --call.",
        )
    return waiting_calls[0]


def _not_waiting(turn: Turn, command: c.AnswerInput) -> Rejected:
    """Why there is nothing to answer: most often somebody else was faster."""
    for call in turn.calls:
        for given in call.input.answers if call.input is not None else ():
            if command.call in {None, call.id} and command.key in {None, given.key}:
                text = f"The question of {call.id} was already answered ({given.action} by {given.by})."
                return Rejected(text, kind="answered")
    return Rejected(f"Turn {turn.id} has no such call waiting for input.", kind="not_waiting")


def as_mcp(answered: OpenInput) -> bytes:
    """The answers as JSON in the form of the specification: an object by key of `action` and `content`."""
    return msgspec.json.encode(
        {
            previous.key: {"action": previous.action}
            | ({"content": msgspec.Raw(previous.content.encode())} if previous.content else {})
            for previous in answered.answers
        }
    )
