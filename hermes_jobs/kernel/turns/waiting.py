"""Whether a turn and its sub-agents are blocked until a person answers, and which turn ends another one."""

from __future__ import annotations

from collections.abc import Callable

from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.kernel.turns.turn import Turn

LoadSession = Callable[[str], Session]
"""Gives the session of a stream as it is now."""


def waits_for_person(load: LoadSession, session: Session, turn: Turn, now: float) -> bool:
    """Whether the turn and its sub-agents are blocked until a user answers: no call's wait has expired."""
    if not turn.is_idle:
        return False
    open_calls = [call for call in turn.calls if call.result is None]
    return bool(open_calls) and all(
        (call.waits_for_person and call.due_at > now)
        or (call.waits_for_children and _all_wait(load, session, call.id, now))
        for call in open_calls
    )


def waits_for_answer(turn: Turn) -> bool:
    """Whether the agent has asked a question in the turn, which may wait for days."""
    return any(
        call.input is not None and call.waits_for_input and not call.input.request.server
        for call in turn.calls
    )


def _all_wait(load: LoadSession, session: Session, call: str, now: float) -> bool:
    for child in session.children:
        if child.call != call:
            continue
        below = load(stream_of(child.ref.session))
        turn = below.current
        if turn is None or turn.id != child.ref.turn:
            return False
        if not turn.held and not waits_for_person(load, below, turn, now):
            return False
    return True


def last_turn(session: Session, turn: str) -> str:
    """The turn that ends this one: itself, or the one it was merged into."""
    while (ended := session.ended.get(turn)) is not None and ended.into is not None:
        turn = ended.into
    return turn
