"""Each step's wait from due to start, as rows.

A turn's last step, its record, has no start event and no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from sqlite3 import Connection
from typing import Final

import msgspec

from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.views.queue_times import PARTS, DueTracker
from hermes_jobs.system.struct_types import described


class Waits:
    """Tables `waits`, and `dues`, the fold of each stream in which something is due, as JSON.

    `at` is when the wait ended.
    """

    name: Final = "waits"
    tables: Final = """
        CREATE TABLE waits (
            position INTEGER PRIMARY KEY, at TEXT NOT NULL, queue TEXT NOT NULL, kind TEXT NOT NULL,
            step TEXT NOT NULL, seconds REAL NOT NULL
        );
        CREATE TABLE dues (stream TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID;
    """
    event_types: Final = tuple(PARTS)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the tables."""
        dues: dict[str, DueTracker] = {}
        rows = []
        for recorded in events:
            stream = recorded.stream
            due = dues.get(stream)
            if due is None:
                due = dues[stream] = DueTracker() if recorded.version == 1 else _stored(connection, stream)
            wait = due.apply(recorded.event, datetime.fromisoformat(recorded.recorded_at).timestamp())
            if wait is not None and wait.kind != "turn.record_usage":
                seconds = round(wait.seconds, 6)
                ended = (recorded.position, recorded.recorded_at)
                rows.append((*ended, wait.queue, wait.kind, wait.step, seconds))
        connection.executemany("INSERT INTO waits VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.executemany("DELETE FROM dues WHERE stream = ?", [(stream,) for stream in dues])
        connection.executemany(
            "INSERT INTO dues VALUES (?, ?)",
            [(stream, msgspec.json.encode(waits)) for stream, waits in dues.items() if waits.due],
        )


def _stored(connection: Connection, stream: str) -> DueTracker:
    row = connection.execute("SELECT state FROM dues WHERE stream = ?", (stream,)).fetchone()
    return DueTracker() if row is None else msgspec.json.decode(row[0], type=described(DueTracker))
