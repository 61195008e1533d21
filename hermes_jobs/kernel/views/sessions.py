"""Lineages of sessions as rows: a session, its continuations, and their titles."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES
from hermes_jobs.kernel.turns.titles import given_title
from hermes_jobs.kernel.views.rows import insert, update

PREFIX = "session-"
PREVIEW = 80  # characters
CHANGING = (e.SessionStarted, e.SessionTitled, e.SessionEnded, e.SessionUndone, e.ModelChanged)


class Sessions:
    """Tables `lineages`, one row a stream, and `sessions`, one row for each of its tips.

    `undone_into`: the lineage in which the user continued after an undo; None again after a later text here.
    """

    name: Final = "sessions"
    tables: Final = """
        CREATE TABLE lineages (
            lineage TEXT PRIMARY KEY, tip TEXT NOT NULL, parent TEXT, at INTEGER, kind TEXT NOT NULL,
            source TEXT NOT NULL, workdir TEXT, title TEXT, named TEXT, preview TEXT NOT NULL,
            model TEXT NOT NULL, ended_because TEXT, started_at TEXT NOT NULL, last_at TEXT NOT NULL,
            last_position INTEGER NOT NULL, undone_into TEXT
        ) WITHOUT ROWID;
        CREATE INDEX lineages_by_last_position ON lineages (last_position);
        CREATE TABLE sessions (session TEXT PRIMARY KEY, lineage TEXT NOT NULL) WITHOUT ROWID;
    """
    event_types: Final = tuple(EVENT_TYPES.values())

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the tables."""
        last: dict[str, RecordedEvent] = {}
        for recorded in events:
            if recorded.stream.startswith(PREFIX):
                lineage = recorded.stream.removeprefix(PREFIX)
                if recorded.version == 1 or isinstance(recorded.event, CHANGING):
                    _take(connection, recorded, lineage)
                last[lineage] = recorded
            if isinstance(recorded.event, e.TurnSubmitted) and recorded.version > 1:
                query = "UPDATE lineages SET undone_into = NULL WHERE lineage = ? AND undone_into IS NOT NULL"
                connection.execute(query, (recorded.stream.removeprefix(PREFIX),))
        _preview(connection, events)
        connection.executemany(
            "UPDATE lineages SET last_at = ?, last_position = ? WHERE lineage = ?",
            [(recorded.recorded_at, recorded.position, lineage) for lineage, recorded in last.items()],
        )


def _take(connection: Connection, recorded: RecordedEvent, lineage: str) -> None:
    event = recorded.event
    if recorded.version == 1:
        _begun(connection, recorded, lineage)
    if isinstance(event, e.SessionStarted):
        connection.execute("INSERT OR IGNORE INTO sessions VALUES (?, ?)", (event.session, lineage))
    changes = _changes(event)
    if isinstance(event, e.SessionTitled):
        query = "SELECT named FROM lineages WHERE lineage = ?"
        (named,) = connection.execute(query, (lineage,)).fetchone()
        changes["named"] = given_title(event.title, named)
    if changes:
        update(connection, "lineages", changes, lineage=lineage)


def _preview(connection: Connection, events: Sequence[RecordedEvent]) -> None:
    """The beginning of a lineage's first text; a fork has it later than its start."""
    first: dict[str, str] = {}
    for recorded in events:
        if isinstance(recorded.event, e.TurnSubmitted) and recorded.version > 1:
            first.setdefault(recorded.stream.removeprefix(PREFIX), recorded.event.text)
    connection.executemany(
        "UPDATE lineages SET preview = ? WHERE lineage = ? AND preview = ''",
        [(preview(text), lineage) for lineage, text in first.items()],
    )


def _begun(connection: Connection, recorded: RecordedEvent, lineage: str) -> None:
    """The lineage's row. Its kind stays what it is here: a session that continues is of the same kind."""
    event = recorded.event
    submitted = event if isinstance(event, e.TurnSubmitted) else None
    opening = (submitted.opening if submitted else None) or e.Opening()
    kind = event.kind if isinstance(event, e.SessionStarted) else opening.kind
    if isinstance(event, e.ReviewRequested):
        kind = "review"  # of no conversation: a curator's
    connection.execute("INSERT OR IGNORE INTO sessions VALUES (?, ?)", (lineage, lineage))
    row = {
        "lineage": lineage,
        "tip": lineage,
        "kind": kind,
        "source": submitted.source if submitted else "",
        "workdir": opening.workdir,
        "title": opening.title,
        "named": opening.title,
        "preview": preview(submitted.text) if submitted else "",
        "model": opening.model or "",
        "started_at": recorded.recorded_at,
        "last_at": recorded.recorded_at,
        "last_position": recorded.position,
    }
    insert(connection, "lineages", row)


def _changes(event: e.Event) -> dict[str, str | int | None]:
    """The columns that the event gives new values."""
    match event:
        case e.SessionStarted():
            return {
                "tip": event.session,
                "parent": event.parent,
                "at": event.at,
                "source": event.source,
                "workdir": event.workdir,
                "model": event.model,
                "ended_because": None,
            }
        case e.SessionTitled():
            return {"title": event.title}
        case e.SessionUndone():
            return {"undone_into": event.into, "title": None, "named": None}
        case e.SessionEnded():
            return {"ended_because": event.reason}
        case e.ModelChanged():
            return {"model": event.model}
        case _:
            return {}


def preview(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= PREVIEW else line[: PREVIEW - 1].rstrip() + "…"
