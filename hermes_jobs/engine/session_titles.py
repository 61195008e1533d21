"""Titles are names: each belongs to one lineage, by a key of the log that is written with the event.

Keys are for ever. A title that a lineage has given up stays its own, so that an old title never comes to mean
another conversation; the lineage itself may take it up again. With a title go its numbers: `Title #2` belongs
to the lineage of `Title`, for the session that goes on after a compression.
"""

from __future__ import annotations

from hermes_jobs.domain.decision import UniqueKey
from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.session import Session, stream_of
from hermes_jobs.domain.session.titles import clean_title, continued_title, numbered, title_key
from hermes_jobs.engine.engine import Engine
from hermes_jobs.errors import KeyTaken, Rejected
from hermes_jobs.eventlog.log import EventLog

SCOPE = "title"


def rename_session(engine: Engine, lineage: str, title: str) -> Session:
    """Give the lineage that title, cleaned; the session after it.

    Raises `Rejected`: kind `usage` for a title that cannot be, `title_taken` for one of another lineage.
    """
    stream, clean = stream_of(lineage), clean_title(title)
    name = numbered(clean)
    owner = _owner(engine.log, name) if name is not None else None
    if owner not in (None, lineage):
        raise _taken(
            clean, f"is kept for session {owner}, which is called {name!r} and goes on under numbers"
        )
    command = c.RenameSession(title=clean)
    key = UniqueKey(scope=SCOPE, key=title_key(clean), digest=lineage)
    try:
        return engine.execute(stream, command, keys=(key,))
    except KeyTaken as taken:
        if taken.digest != lineage:
            raise _taken(clean, f"is, or was, the title of session {taken.digest}") from taken
        return engine.execute(stream, command)


def next_title(log: EventLog, session: Session) -> str | None:
    """What the session is called that goes on after a compression; None where nobody gave a title.

    A number that another lineage was named by stays that one's.
    """
    number = session.num_compressed + 2
    while True:
        title = continued_title(session.named, number)
        if title is None or _owner(log, title) in (None, session.lineage):
            return title
        number += 1


def _owner(log: EventLog, title: str) -> str | None:
    """The lineage to which a title belongs."""
    row = log.key(SCOPE, title_key(title))
    return row.digest if row is not None else None


def _taken(title: str, why: str) -> Rejected:
    return Rejected(f"{title!r} {why}.", kind="title_taken", hint="Choose another title.")
