"""Entities named by users and the memory: people, hosts, paths, projects, preferences, by their aliases."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from sqlite3 import Connection
from typing import Final

import msgspec

from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.recall.rules import digest_of
from hermes_jobs.features.recall.tables.exchanges import LINEAGES
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.session import lineage_of
from hermes_jobs.text.entities import entities

NAMES = 8  # that a text means at most, the newest
OF_MEMORY = ""  # the column `lineage` of a memory entry's entities


class Entities:
    """Table `entities`. `source` is the digest of an entry of the memory, or the turn of a person's text."""

    name: Final = "entities"
    tables: Final = """
        CREATE TABLE entities (
            alias TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL,
            lineage TEXT NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (alias, name, source)
        ) WITHOUT ROWID;
        CREATE INDEX entities_by_source ON entities (source);
    """
    event_types: Final = (
        e.TurnSubmitted,
        memory_events.MemoryAdded,
        memory_events.MemoryReplaced,
        memory_events.MemoryRemoved,
    )

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, memory_events.MemoryReplaced | memory_events.MemoryRemoved):
                connection.execute("DELETE FROM entities WHERE source = ?", (digest_of((event.old,)),))
            connection.executemany(
                "INSERT OR REPLACE INTO entities VALUES (?, ?, ?, ?, ?, ?)", _rows(recorded)
            )


def _rows(recorded: RecordedEvent) -> Iterator[tuple[str, str, str, str, str, int]]:
    match recorded.event:
        case e.TurnSubmitted(turn=source, text=text):
            lineage = lineage_of(recorded.stream)
        case memory_events.MemoryAdded(content=text) | memory_events.MemoryReplaced(content=text):
            source, lineage = digest_of((text,)), OF_MEMORY
        case _:
            return
    for entity in sorted(entities(text)):
        yield entity.alias, entity.name, entity.kind, source, lineage, recorded.position


def select_names(rows: Connection, aliases: Collection[str]) -> tuple[str, ...]:
    """The names that these aliases stand for, the newest first."""
    query = f"""
        SELECT name FROM entities
        WHERE alias IN (SELECT value FROM json_each(?)) AND (lineage = ? OR lineage IN {LINEAGES})
        GROUP BY name ORDER BY max(position) DESC, name LIMIT ?
    """
    values = (msgspec.json.encode(sorted(aliases)).decode(), OF_MEMORY, NAMES)
    return tuple(name for (name,) in rows.execute(query, values))
