"""What may run in a session without asking, as far as its events allow it; and a session without that."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.approval_rules import pattern_text
from hermes_jobs.kernel.turns.layered import Layered
from hermes_jobs.kernel.turns.session import EndedTurn, Session
from hermes_jobs.kernel.turns.turn import Turn


def rights_of(event: e.Event) -> Iterator[str]:
    """What the event lets run without asking, in words."""
    match event:
        case e.ModeChanged(mode="full"):
            yield "mode full"
        case e.TurnSubmitted():
            if event.mode == "full" or (event.opening is not None and event.opening.mode == "full"):
                yield "mode full"
            yield from (f"approved beforehand: {pattern_text(calls)}" for calls in event.approve)
        case e.ApprovalGiven(scope="session", calls=e.CallPattern() as calls):
            yield f"approved for the session: {pattern_text(calls)}"
        case _:
            pass


def brings_along(event: e.Event) -> bool:
    """Whether `withdrawn` takes something back that the event brings."""
    match event:
        case e.ApprovalGiven():
            return True
        case e.TurnSubmitted() | e.TurnResumed() if event.settings:
            return True
        case _:
            return any(True for _ in rights_of(event))


def withdrawn(session: Session) -> Session:
    """The session as one of somebody else: nothing is approved, and its turns have this home's settings."""
    return replace(
        session,
        mode=_narrowed(session.mode),
        approved=(),
        current=_of_nobody(session.current) if session.current else None,
        waiting=tuple(map(_of_nobody, session.waiting)),
        ended=Layered({name: _ended(ended) for name, ended in session.ended.items()}),
        children=tuple(
            replace(child, parent_turn=_of_nobody(child.parent_turn)) for child in session.children
        ),
        titling=replace(session.titling, turn=_of_nobody(session.titling.turn)) if session.titling else None,
    )


def _of_nobody(turn: Turn) -> Turn:
    calls = tuple(replace(call, approval="none") if call.approval == "given" else call for call in turn.calls)
    mode = _narrowed(turn.mode) if turn.mode else None
    return replace(turn, mode=mode, approve=(), settings={}, calls=calls)


def _ended(ended: EndedTurn) -> EndedTurn:
    return ended if ended.turn is None else replace(ended, turn=_of_nobody(ended.turn))


def _narrowed(mode: e.Mode) -> e.Mode:
    return "ask" if mode == "full" else mode
