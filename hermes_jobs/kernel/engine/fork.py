"""Forking: a new session that continues from any event of another, which stays as it is."""

from __future__ import annotations

import sys

from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.events import (
    ContextPrefetched,
    SessionStarted,
    SessionTitled,
    SessionUndone,
    TurnCancelled,
    TurnCompleted,
    TurnFailed,
    TurnMerged,
    TurnResumed,
)
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader, StreamEvents
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session, lineage_of, not_ended, stream_of

TURN_ENDS = (TurnCompleted, TurnFailed, TurnCancelled)


def fork(engine: Engine, lineage: str, new: str, *, at: int | None = None) -> Session:
    """Begin session `new` with the history of `lineage` up to version `at` of its stream (None: all of it).

    Raises `Rejected` if the lineage has no such version, or no prompt at that version.
    """
    started = _start_of_fork(engine, lineage, new, at)
    return engine.execute(stream_of(new), c.ForkSession(started=started))


def fork_at_turn(engine: Engine, lineage: str, new: str, turn: str, *, stream: str, before: bool) -> Session:
    """Begin session `new` with the history of `lineage` up to the end of that turn, or to `before` it.

    `stream` is the turn's stream, which may be an earlier session of the lineage. Raises `Rejected` for a
    turn that is not of its history, that has not begun, or that has not ended.
    """
    begun, ended = _extent(engine, stream, turn)
    if begun > _version_in_history(engine, lineage, stream):
        raise Rejected(
            f"Turn {turn} is not in the history of session {lineage}: it is of {lineage_of(stream)}.",
            kind="usage",
            hint=f"See `hermes-jobs turns list -s {lineage}`.",
        )
    if not before and ended is None:
        raise Rejected(
            f"Turn {turn} has not ended yet.",
            kind="busy",
            hint="Wait for it, or fork the session as it was before it: --before.",
        )
    at = begun - 1 if before or ended is None else ended
    return fork(engine, lineage_of(stream), new, at=at)


def _extent(engine: Engine, stream: str, turn: str) -> tuple[int, int | None]:
    """The versions of the events that began and ended the turn; None while it has no end."""
    of_turn = [record for record in engine.log.read(stream) if getattr(record.event, "turn", None) == turn]
    begun = next((record.version for record in of_turn if isinstance(record.event, ContextPrefetched)), None)
    if begun is None:
        merged = next((record.event for record in of_turn if isinstance(record.event, TurnMerged)), None)
        raise Rejected(
            f"Turn {turn} went into turn {merged.into}." if merged else f"Turn {turn} has not begun.",
            kind="usage",
            hint=f"Name {merged.into}." if merged else "",
        )
    end = next(
        (record for record in reversed(of_turn) if isinstance(record.event, (*TURN_ENDS, TurnResumed))), None
    )
    return begun, None if end is None or isinstance(end.event, TurnResumed) else end.version


def _version_in_history(engine: Engine, lineage: str, stream: str) -> int:
    """The version up to which the stream is part of the lineage's history; 0 if it is not part of it."""
    upto = sys.maxsize
    while stream_of(lineage) != stream:
        events = engine.log.read(stream_of(lineage), upto=1)
        started = events[0].event if events else None
        if not isinstance(started, SessionStarted) or started.parent is None or started.at is None:
            return 0
        lineage, upto = started.parent, started.at
    return upto


def _start_of_fork(engine: Engine, lineage: str, new: str, at: int | None) -> SessionStarted:
    stream = stream_of(lineage)
    tip = engine.sessions.load(stream)
    version = tip.version if at is None else at
    if not 0 < version <= tip.version:
        raise Rejected(
            f"Session {lineage} has events 1 to {tip.version}; there is no {version}.",
            kind="usage",
            hint=f"See `hermes-jobs log events --stream {stream}`.",
        )
    parent = tip if version == tip.version else engine.sessions.load_at(stream, version)
    if parent.started is None:
        raise Rejected(
            f"At event {version} session {lineage} had not begun yet: nothing was said.",
            kind="usage",
            hint="Fork it at a later event.",
        )
    model = parent.model or parent.started.model
    return replace(parent.started, session=new, kind="conversation", parent=lineage, at=version, model=model)


def undo(engine: Engine, lineage: str, new: str) -> str:
    """Begin session `new` with the history of `lineage` before its last turn; returns that turn's text. The
    lineage keeps its events; its title moves to `new`. Raises `Rejected` while a turn runs or waits in it,
    and where nothing was said.
    """
    begun = last_begun(engine, lineage)
    turn = engine.sessions.load_at(begun.stream, begun.version).current
    started = _start_of_fork(engine, lineage_of(begun.stream), new, begun.version - 1)
    source, copy = stream_of(lineage), stream_of(new)
    undone = SessionUndone(session=engine.sessions.load(source).id, into=new)

    def take_over(load: StateLoader) -> DecisionResult:
        titles = (SessionTitled(session=new, title=title) for title in _titles(load(source)))
        return DecisionResult(
            writes=(StreamEvents(source, (undone,)), StreamEvents(copy, (started, *titles)))
        )

    engine.change(take_over, cause="undo")
    return turn.prompt_text if turn else ""


def _titles(session: Session) -> tuple[str, ...]:
    """The titles of a session, to be copied to another: the given title, then the one with its number."""
    return tuple(dict.fromkeys(title for title in (session.named, session.title) if title is not None))


def last_begun(engine: Engine, lineage: str) -> RecordedEvent:
    """The `ContextPrefetched` of the last turn in that lineage's history. Raises as `undo` does."""
    session = engine.sessions.load(stream_of(lineage))
    if session.current is not None:
        raise not_ended(session, session.current.id, kind="busy")
    upto: int | None = None
    while True:
        events = engine.log.read(stream_of(lineage), upto=upto)
        begun = next(
            (event for event in reversed(events) if isinstance(event.event, ContextPrefetched)), None
        )
        if begun is not None:
            return begun
        started = events[0].event if events else None
        if not isinstance(started, SessionStarted) or started.parent is None or started.at is None:
            raise Rejected(
                "There is no turn to undo.", kind="usage", hint="This session has no messages yet."
            )
        lineage, upto = started.parent, started.at
