"""How full the memory was after each write, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final, get_args

from hermes_jobs.domain import events as e
from hermes_jobs.domain.memory.memory import SEPARATOR
from hermes_jobs.eventlog.log import RecordedEvent


class Fill:
    """Table `fill`: what a target holds from an event on, in entries and in characters."""

    name: Final = "fill"
    tables: Final = """
        CREATE TABLE fill (
            position INTEGER PRIMARY KEY, at TEXT NOT NULL, target TEXT NOT NULL, entries INTEGER NOT NULL,
            chars INTEGER NOT NULL
        );
        CREATE INDEX fill_by_target ON fill (target, position);
    """

    event_types: Final = get_args(e.MemoryEvent)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            assert isinstance(recorded.event, e.MemoryEvent)
            _insert(connection, recorded, recorded.event)


def _insert(connection: Connection, recorded: RecordedEvent, event: e.MemoryEvent) -> None:
    query = "SELECT entries, chars FROM fill WHERE target = ? ORDER BY position DESC LIMIT 1"
    entries, chars = connection.execute(query, (event.target,)).fetchone() or (0, 0)
    match event:
        case e.MemoryAdded():
            chars += len(event.content) + len(SEPARATOR) * bool(entries)
            entries += 1
        case e.MemoryReplaced():
            chars += len(event.content) - len(event.old)
        case e.MemoryRemoved():
            entries -= 1
            chars -= len(event.old) + len(SEPARATOR) * bool(entries)
        case e.MemoryArranged() | e.MemoryConflicted() | e.MemoryConfirmed():
            return
    connection.execute(
        "INSERT INTO fill VALUES (?, ?, ?, ?, ?)",
        (recorded.position, recorded.recorded_at, event.target, entries, chars),
    )
