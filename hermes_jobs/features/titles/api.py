"""Titles are names: each belongs to one lineage, by a key of the log that is written with the event.

Keys are never freed. A title that a lineage no longer uses stays reserved for it, so that an old title never
names another conversation; the lineage itself may use it again. A title includes its numbers: `Title #2`
belongs to the lineage of `Title`, for the session that continues after a compression. After an undo they
belong to the lineage in which the user continued.
"""

from __future__ import annotations

from hashlib import sha256

from hermes_jobs.errors import KeyTaken, Rejected
from hermes_jobs.features.titles.titles import SCOPE, key_of
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.kernel.turns.titles import clean_title, continued_title, number_of, numbered, title_key


def rename_session(engine: Engine, lineage: str, title: str) -> Session:
    """Give the lineage that title, cleaned; the session after it.

    Raises `Rejected`: kind `usage` for an invalid title, `title_taken` for one of another lineage.
    """
    stream, clean = stream_of(lineage), clean_title(title)
    name = numbered(clean)
    owner = _owner(engine, name) if name is not None else None
    if owner not in (None, lineage):
        raise _title_taken(
            clean, f"is kept for session {owner}, which is called {name!r} and continues under numbers"
        )
    command = c.RenameSession(title=clean)
    try:
        return engine.execute(stream, command, keys=(key_of(lineage, clean),))
    except KeyTaken as taken:
        if (owner := _heir(engine, taken.digest)) != lineage:
            raise _title_taken(clean, f"is, or was, the title of session {owner}") from taken
        return engine.execute(stream, command)


def lineage_called(title: str) -> str:
    """The id of the lineage that begins under that title: the same for all programs that begin it at once."""
    return f"s{sha256(title_key(title).encode()).hexdigest()[:12]}"


def next_title(engine: Engine, session: Session) -> str | None:
    """The title of the session that continues after a compression; None if the lineage has no title. A
    numbered title that another lineage has is skipped.
    """
    newest = number_of(session.title, session.named) if session.title and session.named else None
    number = max(session.num_compressed + 2, (newest or 0) + 1)
    while True:
        title = continued_title(session.named, number)
        if title is None or _owner(engine, title) in (None, session.lineage):
            return title
        number += 1


def is_free(engine: Engine, session: Session, title: str) -> bool:
    """Whether the session may have that title: no other lineage has or had it."""
    return _owner(engine, title) in (None, session.lineage)


def _owner(engine: Engine, title: str) -> str | None:
    """The lineage to which a title belongs."""
    row = engine.log.key(SCOPE, title_key(title))
    return _heir(engine, row.digest) if row is not None else None


def _heir(engine: Engine, lineage: str) -> str:
    """The lineage that has the titles of that one: the last one in which the user continued after an undo."""
    while (into := engine.sessions.load(stream_of(lineage)).undone_into) is not None:
        lineage = into
    return lineage


def _title_taken(title: str, why: str) -> Rejected:
    return Rejected(f"{title!r} {why}.", kind="title_taken", hint="Choose another title.")
