"""The memory as rows: its fill level after each write, and the turns for which entries were recalled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sqlite3 import Connection
from typing import Final, get_args

from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.memory.rules.entries import Uses
from hermes_jobs.features.memory.rules.memory import SEPARATOR
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.views.projection import Projection, ViewSources


class Fill:
    """Table `fill`: the entries and characters of a target from an event on."""

    name: Final = "fill"
    tables: Final = """
        CREATE TABLE fill (
            position INTEGER PRIMARY KEY, at TEXT NOT NULL, target TEXT NOT NULL, entries INTEGER NOT NULL,
            chars INTEGER NOT NULL
        );
        CREATE INDEX fill_by_target ON fill (target, position);
    """

    event_types: Final = get_args(memory_events.MemoryEvent)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            assert isinstance(recorded.event, memory_events.MemoryEvent)
            _insert(connection, recorded, recorded.event)


def _insert(connection: Connection, recorded: RecordedEvent, event: memory_events.MemoryEvent) -> None:
    query = "SELECT entries, chars FROM fill WHERE target = ? ORDER BY position DESC LIMIT 1"
    entries, chars = connection.execute(query, (event.target,)).fetchone() or (0, 0)
    match event:
        case memory_events.MemoryAdded():
            chars += len(event.content) + len(SEPARATOR) * bool(entries)
            entries += 1
        case memory_events.MemoryReplaced():
            chars += len(event.content) - len(event.old)
        case memory_events.MemoryRemoved():
            entries -= 1
            chars -= len(event.old) + len(SEPARATOR) * bool(entries)
        case (
            memory_events.MemoryArranged()
            | memory_events.MemoryConflicted()
            | memory_events.MemoryConfirmed()
        ):
            return
    connection.execute(
        "INSERT INTO fill VALUES (?, ?, ?, ?, ?)",
        (recorded.position, recorded.recorded_at, event.target, entries, chars),
    )


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
    """The number of turns for which each entry was recalled, and the last time."""
    query = "SELECT version, COUNT(*), MAX(at) FROM memory_uses GROUP BY version"
    return {version: Uses(count, at) for version, count, at in rows.execute(query)}


def projections(_sources: ViewSources) -> tuple[Projection, ...]:
    """Its projections."""
    return (
        Fill(),
        MemoryUses(),
    )
