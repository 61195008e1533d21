"""Schedules as rows: their definition, and the outcome of each due time."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final, get_args

import msgspec

from hermes_jobs.domain import events as e
from hermes_jobs.domain.schedule.schedule import Schedule, evolve, stream_of
from hermes_jobs.eventlog.log import RecordedEvent
from hermes_jobs.system.struct_types import described
from hermes_jobs.views.rows import insert, update


class Schedules:
    """Tables `schedules`, the fold of each as JSON, and `runs`, a row for each due time and each run.

    `outcome` is that of a run, or `queued` or `missed`. A run keeps its place where it was decided about.
    """

    name: Final = "schedules"
    tables: Final = """
        CREATE TABLE schedules (
            schedule TEXT PRIMARY KEY, name TEXT NOT NULL, removed INTEGER NOT NULL, state BLOB NOT NULL,
            said TEXT NOT NULL, added_by TEXT NOT NULL, added_at TEXT NOT NULL, changed_at TEXT NOT NULL,
            position INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE runs (
            position INTEGER PRIMARY KEY, schedule TEXT NOT NULL, due REAL NOT NULL, until REAL,
            count INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, "by" TEXT NOT NULL,
            turn TEXT, session TEXT, message TEXT NOT NULL, at TEXT NOT NULL, ended_at TEXT
        );
        CREATE INDEX runs_by_schedule ON runs (schedule, position);
        CREATE INDEX runs_by_turn ON runs (turn) WHERE turn IS NOT NULL;
    """

    event_types: Final = get_args(e.ScheduleEvent)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the tables."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, get_args(e.ScheduleEvent)):
                _take(connection, recorded, event)


def _take(connection: Connection, recorded: RecordedEvent, event: e.ScheduleEvent) -> None:
    name = event.schedule
    row = connection.execute("SELECT state FROM schedules WHERE schedule = ?", (name,)).fetchone()
    before = (
        msgspec.json.decode(row[0], type=described(Schedule)) if row else Schedule(stream=stream_of(name))
    )
    after = evolve(before, event)
    if isinstance(event, e.ScheduleAdded):
        _add(connection, recorded, event)
    plan = after.plan
    changes = {
        "name": plan.name if plan is not None else "",
        "removed": after.removed,
        "state": msgspec.json.encode(after),
        "changed_at": recorded.recorded_at,
    }
    if isinstance(event, e.ScheduleEdited) and event.said:
        changes["said"] = event.said
    update(connection, "schedules", changes, schedule=name)
    _note_run(connection, recorded, event)


def _add(connection: Connection, recorded: RecordedEvent, event: e.ScheduleAdded) -> None:
    at = recorded.recorded_at
    blank = msgspec.json.encode(Schedule(stream=stream_of(event.schedule)))
    connection.execute(
        "INSERT INTO schedules VALUES (?, '', 0, ?, ?, ?, ?, ?, ?)",
        (event.schedule, blank, event.said, event.by, at, at, recorded.position),
    )


def _note_run(connection: Connection, recorded: RecordedEvent, event: e.ScheduleEvent) -> None:
    match event:
        case e.ScheduleFired():
            _insert(
                connection, recorded, event, "running", by=event.by, turn=event.turn, session=event.session
            )
        case e.ScheduleQueued():
            _insert(connection, recorded, event, "queued")
        case e.ScheduleMissed():
            _insert(
                connection,
                recorded,
                event,
                "missed",
                until=event.until,
                count=event.count,
                reason=event.reason,
            )
        case e.ScheduleRunEnded():
            connection.execute(
                "UPDATE runs SET outcome = ?, message = ?, ended_at = ? WHERE turn = ?",
                (event.status, event.message, recorded.recorded_at, event.turn),
            )
        case _:
            pass


def _insert(
    connection: Connection,
    recorded: RecordedEvent,
    event: e.ScheduleFired | e.ScheduleQueued | e.ScheduleMissed,
    outcome: str,
    **columns: str | float | None,
) -> None:
    """A row for a due time; replaces its `queued` row."""
    connection.execute(
        "DELETE FROM runs WHERE schedule = ? AND due = ? AND outcome = 'queued'", (event.schedule, event.due)
    )
    row = {
        "position": recorded.position,
        "schedule": event.schedule,
        "due": event.due,
        "count": 1,
        "outcome": outcome,
        "reason": "",
        "by": "clock",
        "message": "",
        "at": recorded.recorded_at,
        **columns,
    }
    insert(connection, "runs", row)
