"""Session metadata for memory providers and context engines."""

from __future__ import annotations

import msgspec

from hermes_jobs.kernel.events import SessionKind
from hermes_jobs.kernel.turns.session import Session


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A session. `source` is where its texts come from, such as `cli`.

    `continues`: the session that was compressed into this one; `number`: how many compressions the
    conversation has had; `lineage`: its first session.
    """

    id: str
    kind: SessionKind = "conversation"
    source: str = ""
    continues: str | None = None
    number: int = 0
    lineage: str = ""


def session_info(session: Session) -> SessionInfo:
    """The session's metadata."""
    started = session.started
    return SessionInfo(
        id=session.id,
        kind=kind_of(session),
        source=started.source if started else _first_source(session),
        continues=started.parent if started and started.at is None else None,
        number=session.num_compressed,
        lineage=session.lineage,
    )


def _first_source(session: Session) -> str:
    """The source of a session that has not begun: that of its first text."""
    first = session.current or next(iter(session.waiting), None)
    return first.source if first is not None else ""


def kind_of(session: Session) -> SessionKind:
    """What kind of session it is, also before it has begun."""
    if session.started is not None:
        return session.started.kind
    return session.opening.kind if session.opening is not None else "conversation"
