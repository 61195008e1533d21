"""The progress of consolidations in each conversation, as rows. See `features.consolidation.rules`."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final, NamedTuple

from hermes_jobs.features.consolidation import events as consolidation_events
from hermes_jobs.features.consolidation.rules import NOT_COUNTED, PREFIX
from hermes_jobs.features.consolidation.rules import lineage_of as consolidated_lineage
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.session import is_session, lineage_of
from hermes_jobs.kernel.views.list_filters import LISTED_SESSIONS
from hermes_jobs.kernel.views.projection import Projection, ViewSources


class Unread(NamedTuple):
    """A conversation with turns that no consolidation has read: those that ended at the versions `done` <
    version <= `until` of its stream. `failures`: the weight of the failures to read them, `failed_at`: the
    time of the last one (ISO 8601, UTC), empty for none."""

    lineage: str
    done: int
    until: int
    failures: int
    failed_at: str


class Consolidations:
    """Table `consolidations`. `answered`: the version of the newest answer; `ended`: that of the newest one
    before a session ended, for a compression too; `at`: the time of the last message; `asked`: the end of the
    running request, else 0."""

    name: Final = "consolidations"
    tables: Final = """
        CREATE TABLE consolidations (
            lineage TEXT PRIMARY KEY, answered INTEGER NOT NULL DEFAULT 0, ended INTEGER NOT NULL DEFAULT 0,
            at TEXT NOT NULL DEFAULT '', done INTEGER NOT NULL DEFAULT 0, asked INTEGER NOT NULL DEFAULT 0,
            failures INTEGER NOT NULL DEFAULT 0, failed_at TEXT NOT NULL DEFAULT ''
        ) WITHOUT ROWID;
    """
    event_types: Final = (
        e.TurnSubmitted,
        e.TurnCompleted,
        e.SessionEnded,
        consolidation_events.ConsolidationRequested,
        consolidation_events.ConsolidationEnded,
        e.HelperCallFailed,
    )

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            stream = recorded.stream
            if isinstance(recorded.event, e.HelperCallFailed) and not stream.startswith(PREFIX):
                continue
            change, values = _change(recorded)
            lineage = lineage_of(stream) if is_session(stream) else consolidated_lineage(stream)
            connection.execute("INSERT OR IGNORE INTO consolidations (lineage) VALUES (?)", (lineage,))
            connection.execute(f"UPDATE consolidations SET {change} WHERE lineage = ?", (*values, lineage))


def _change(recorded: RecordedEvent) -> tuple[str, tuple[object, ...]]:
    """What the event changes in its row."""
    match recorded.event:
        case e.TurnSubmitted():
            return "at = ?", (recorded.recorded_at,)
        case e.TurnCompleted():
            return "at = ?, answered = ?", (recorded.recorded_at, recorded.version)
        case e.SessionEnded():
            return "ended = answered", ()
        case consolidation_events.ConsolidationRequested(until=until):
            return "asked = ?", (until,)
        case consolidation_events.ConsolidationEnded():
            return "done = max(done, asked), asked = 0, failures = 0, failed_at = ''", ()
        case e.HelperCallFailed(retry_at=None, kind=kind):
            counts = NOT_COUNTED.get(kind, 1)
            return "asked = 0, failures = failures + ?, failed_at = ?", (counts, recorded.recorded_at)
        case _:
            return "asked = asked", ()


UNREAD: Final = f"""
    FROM consolidations c JOIN lineages l USING (lineage)
    WHERE l.kind = 'conversation' AND {LISTED_SESSIONS} AND c.asked = 0
"""


def select_finished_unread(rows: Connection, before: str, limit: int | None = None) -> tuple[Unread, ...]:
    """Conversations with unread turns before the newest end of a session, or with unread turns and no message
    since `before` (ISO 8601, UTC); the last used first."""
    until = "CASE WHEN c.at < ? THEN answered ELSE ended END"
    query = f"""
        SELECT lineage, done, {until}, failures, failed_at {UNREAD} AND {until} > done
        ORDER BY c.at DESC, lineage LIMIT ?
    """
    selected = rows.execute(query, (before, before, -1 if limit is None else limit))
    return tuple(Unread(*row) for row in selected)


def select_unread(rows: Connection, lineage: str) -> Unread | None:
    """The conversation with all its unread turns, finished or not; None if there are none, or some are being
    read."""
    query = f"""
        SELECT lineage, done, answered, failures, failed_at
        {UNREAD} AND lineage = ? AND answered > done
    """
    row = rows.execute(query, (lineage,)).fetchone()
    return None if row is None else Unread(*row)


def projections(_sources: ViewSources) -> tuple[Projection, ...]:
    """Its projections."""
    return (Consolidations(),)
