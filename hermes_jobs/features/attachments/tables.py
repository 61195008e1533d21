"""What models have heard in sounds and said of pictures, by the digest: nothing is paid for twice."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.views.projection import Projection, ViewSources


class Perceptions:
    """Table `perceptions`: the newest words of each model for each content. What was forgotten is in none: a
    file that is attached again is perceived again."""

    name: Final = "perceptions"
    tables: Final = """
        CREATE TABLE perceptions (
            digest TEXT NOT NULL, model TEXT NOT NULL, words TEXT NOT NULL, PRIMARY KEY (digest, model)
        ) WITHOUT ROWID;
    """

    event_types: Final = (e.ContextPrefetched, e.TextsForgotten)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, e.ContextPrefetched):
                rows = [(each.digest, each.model, each.words) for each in event.heard if each.words]
                connection.executemany("INSERT OR REPLACE INTO perceptions VALUES (?, ?, ?)", rows)
            elif isinstance(event, e.TextsForgotten):
                gone = [(digest,) for digest in event.blobs]
                connection.executemany("DELETE FROM perceptions WHERE digest = ?", gone)


def select_words(connection: Connection, digest: str, model: str) -> str:
    """What that model has heard in the sound, or said of the picture; empty where that is not recorded."""
    row = connection.execute(
        "SELECT words FROM perceptions WHERE digest = ? AND model = ?", (digest, model)
    ).fetchone()
    return row[0] if row is not None else ""


def projections(_sources: ViewSources) -> tuple[Projection, ...]:
    """Its projections."""
    return (Perceptions(),)
