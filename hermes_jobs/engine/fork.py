"""Forking: a new session that goes on from any event of another, which stays as it is."""

from __future__ import annotations

from msgspec.structs import replace

from hermes_jobs.domain.events import ContextPrefetched, SessionStarted
from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.session import Session, stream_of
from hermes_jobs.engine.engine import Engine
from hermes_jobs.errors import Rejected


def fork(engine: Engine, lineage: str, new: str, *, at: int | None = None) -> Session:
    """Begin session `new` with the history of `lineage` up to version `at` of its stream (None: all of it).

    Raises `Rejected` where the lineage has no such version, or no prompt by then.
    """
    stream = stream_of(lineage)
    tip = engine.sessions.load(stream)
    version = tip.version if at is None else at
    if not 0 < version <= tip.version:
        raise Rejected(
            f"Session {lineage} has events 1 to {tip.version}; there is no {version}.",
            kind="usage",
            hint=f"See `hermes-jobs events --stream {stream}`.",
        )
    parent = tip if version == tip.version else engine.sessions.load_at(stream, version)
    if parent.started is None:
        raise Rejected(
            f"At event {version} session {lineage} had not begun yet: nothing was said.",
            kind="usage",
            hint="Fork it at a later event.",
        )
    model = parent.model or parent.started.model
    started = replace(
        parent.started, session=new, kind="conversation", parent=lineage, at=version, model=model
    )
    return engine.execute(stream_of(new), c.ForkSession(started=started))


def undo(engine: Engine, lineage: str, new: str) -> str:
    """Begin session `new` with the history of `lineage` from before its last turn; that turn's text.

    Nothing is erased: the lineage stays as it is. Raises `Rejected` while a turn runs or waits in it, and
    where nothing was said.
    """
    session = engine.sessions.load(stream_of(lineage))
    if session.current is not None:
        raise Rejected(
            f"Turn {session.current.id} is still running.",
            kind="busy",
            hint=f"Wait for it, or cancel it: hermes-jobs turns cancel {session.current.id}",
        )
    upto: int | None = None
    while True:
        events = engine.log.read(stream_of(lineage), upto=upto)
        begun = next((each for each in reversed(events) if isinstance(each.event, ContextPrefetched)), None)
        if begun is not None:
            turn = engine.sessions.load_at(begun.stream, begun.version).current
            fork(engine, lineage, new, at=begun.version - 1)
            return turn.asked if turn else ""
        started = events[0].event if events else None
        if not isinstance(started, SessionStarted) or started.parent is None or started.at is None:
            raise Rejected("There is no turn to take back.", kind="usage", hint="Nothing was said yet.")
        lineage, upto = started.parent, started.at
