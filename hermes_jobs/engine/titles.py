"""Titles are names: each belongs to one lineage, by a key of the log that is written with the event.

Keys are for ever. A title that a lineage has given up stays its own, so that an old title never comes to mean
another conversation; the lineage itself may take it up again.
"""

from __future__ import annotations

from hermes_jobs.domain import commands as c
from hermes_jobs.domain.changes import Key
from hermes_jobs.domain.errors import KeyTaken, Rejected
from hermes_jobs.domain.session import Session, stream_of
from hermes_jobs.domain.titles import clean_title, title_key
from hermes_jobs.engine.engine import Engine

SCOPE = "title"


def rename(engine: Engine, lineage: str, title: str) -> Session:
    """Give the lineage that title, cleaned; the session after it.

    Raises `Rejected`: kind `usage` for a title that cannot be, `title_taken` for one of another lineage.
    """
    stream, clean = stream_of(lineage), clean_title(title)
    command = c.RenameSession(title=clean)
    key = Key(scope=SCOPE, key=title_key(clean), digest=lineage)
    try:
        return engine.execute(stream, command, keys=(key,))
    except KeyTaken as taken:
        if taken.digest != lineage:
            raise Rejected(
                f"{clean!r} is, or was, the title of session {taken.digest}.",
                kind="title_taken",
                hint="Choose another title.",
            ) from taken
        return engine.execute(stream, command)
