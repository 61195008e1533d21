"""For which turns entries of the memory were recalled, as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sqlite3 import Connection
from typing import Final

from hermes_jobs.domain import events as e
from hermes_jobs.domain.memory.entries import Uses
from hermes_jobs.eventlog.log import RecordedEvent


class MemoryUses:
    """Table `memory_uses`: an entry, by the version of the write that made it, recalled for a turn."""

    name: Final = "memory uses"
    tables: Final = """
        CREATE TABLE memory_uses (
            version INTEGER NOT NULL, turn TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (version, turn)
        ) WITHOUT ROWID;
    """

    event_types: Final = (e.ContextPrefetched,)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            event = recorded.event
            assert isinstance(event, e.ContextPrefetched)
            rows = ((version, event.turn, recorded.recorded_at) for version in event.memories)
            connection.executemany("INSERT OR REPLACE INTO memory_uses VALUES (?, ?, ?)", rows)


def select_memory_uses(rows: Connection) -> Mapping[int, Uses]:
    """For how many turns each entry was recalled, and when last."""
    query = "SELECT version, COUNT(*), MAX(at) FROM memory_uses GROUP BY version"
    return {version: Uses(count, at) for version, count, at in rows.execute(query)}
