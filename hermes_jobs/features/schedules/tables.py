"""Schedules and the outcomes of their due times: the tables, and the queries about status and cost."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection, Row
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.tables import DeliveryView, select_deliveries
from hermes_jobs.features.schedules import events as e
from hermes_jobs.features.schedules.events import Plan
from hermes_jobs.features.schedules.rules.schedule import (
    Schedule,
    ScheduleStatus,
    evolve,
    start_of,
    stream_of,
)
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.views.models import UsageTotals
from hermes_jobs.kernel.views.projection import Projection, ViewSources
from hermes_jobs.kernel.views.queries import OF_SCHEDULE, TOTALS, totals_of
from hermes_jobs.kernel.views.rows import fetched, insert, update, value_of
from hermes_jobs.system.struct_types import described


class Schedules:
    """Tables `schedules`, the fold of each as JSON, and `runs`, a row for each due time and each run.

    `outcome` is that of a run, or `checking`, `skipped`, `queued` or `missed`. A run keeps the position of
    its decision.
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
            turn TEXT, session TEXT, message TEXT NOT NULL, at TEXT NOT NULL, ended_at TEXT,
            delay REAL NOT NULL DEFAULT 0
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
                connection,
                recorded,
                event,
                "running",
                by=event.by,
                turn=event.turn,
                session=event.session,
                delay=event.delay,
            )
        case e.ScheduleQueued():
            _insert(connection, recorded, event, "queued")
        case e.ScheduleChecking():
            _insert(connection, recorded, event, "checking")
        case e.ScheduleSkipped():
            _insert(connection, recorded, event, "skipped", reason="condition", message=event.message)
        case e.ScheduleCheckFailed():
            _insert(connection, recorded, event, "failed", reason="condition", message=event.message)
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


DueEvent: TypeAlias = (
    e.ScheduleFired
    | e.ScheduleQueued
    | e.ScheduleChecking
    | e.ScheduleSkipped
    | e.ScheduleCheckFailed
    | e.ScheduleMissed
)
"""What was decided about a due time."""


def _insert(
    connection: Connection,
    recorded: RecordedEvent,
    event: DueEvent,
    outcome: str,
    **columns: str | float | None,
) -> None:
    """A row for a due time; replaces the row in which it was `queued` or `checking`."""
    connection.execute(
        "DELETE FROM runs WHERE schedule = ? AND due = ? AND outcome IN ('queued', 'checking')",
        (event.schedule, event.due),
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


RunOutcome = Literal["running", "completed", "failed", "cancelled", "checking", "skipped", "queued", "missed"]


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a due time: a run, a place in the queue, or none (`missed`, for `count` up to `until`).

    `due` and `until` are seconds since the epoch. `by`: `clock`, or who asked for the run. `reason`: why it
    was missed, or `condition`; `message`: why the run failed or was skipped. `at` is when that was decided,
    `ended_at` when the run ended.
    """

    due: float
    until: float | None
    count: int
    outcome: RunOutcome
    reason: str
    by: str
    turn: str | None
    session: str | None
    message: str
    at: str
    ended_at: str | None
    cost_usd: float | None
    deliveries: tuple[DeliveryView, ...] = ()


class ScheduleView(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule. `next_due` is in seconds since the epoch; at `starts_at` its run starts, with its jitter.

    `last` is the newest run or miss. `totals` includes all its runs, and the model calls to interpret its
    wording.
    """

    id: str
    status: ScheduleStatus
    plan: Plan
    next_due: float | None
    starts_at: float | None
    pause_reason: str
    running: tuple[str, ...]
    queued: tuple[float, ...]
    failures: int
    said: str
    added_by: str
    added_at: str
    changed_at: str
    num_runs: int
    num_missed: int
    num_skipped: int
    totals: UsageTotals
    last: RunView | None


def select_schedules(connection: Connection, *, removed: bool = False) -> tuple[ScheduleView, ...]:
    """Schedules, the next that is due first, then those that are not due; with `removed` those too."""
    condition = "TRUE" if removed else "NOT removed"
    rows = fetched(connection, f"SELECT * FROM schedules WHERE {condition} ORDER BY position", ())
    schedules = [_schedule(connection, row) for row in rows]
    return tuple(sorted(schedules, key=_place))


def _place(schedule: ScheduleView) -> tuple[bool, float]:
    due = schedule.starts_at if schedule.status == "active" else None
    return (due is None, due or 0.0)


def select_schedule(connection: Connection, schedule: str) -> ScheduleView:
    """One schedule, by its whole id. Raises `Rejected`, kind `unknown_schedule`."""
    rows = fetched(connection, "SELECT * FROM schedules WHERE schedule = ?", (schedule,))
    if not rows:
        raise Rejected(
            f"There is no schedule {schedule!r}.",
            kind="unknown_schedule",
            hint="See `hermes-jobs schedule list`.",
        )
    return _schedule(connection, rows[0])


def select_runs(connection: Connection, schedule: str, limit: int = 20) -> tuple[RunView, ...]:
    """The outcomes of the schedule's due times, newest first, with the deliveries of the answers."""
    return tuple(_run(connection, row) for row in _run_rows(connection, schedule, limit))


def _run_rows(connection: Connection, schedule: str, limit: int) -> Sequence[Row]:
    query = f"""
        SELECT runs.*, {TOTALS} FROM runs LEFT JOIN responses r ON r.turn = runs.turn
        WHERE runs.schedule = ? GROUP BY runs.position ORDER BY runs.position DESC LIMIT ?
    """
    return fetched(connection, query, (schedule, limit))


def _run(connection: Connection, row: Row) -> RunView:
    deliveries = select_deliveries(connection, turn=row["turn"]) if row["turn"] else ()
    return value_of(RunView, row, deliveries=tuple(reversed(deliveries)))


def _schedule(connection: Connection, row: Row) -> ScheduleView:
    state = msgspec.json.decode(row["state"], type=described(Schedule))
    assert state.plan is not None, f"{state.stream} has a row, and so a plan"
    name = row["schedule"]
    counted = (
        "coalesce(sum(turn IS NOT NULL), 0), coalesce(sum(iif(outcome = 'missed', count, 0)), 0), "
        "coalesce(sum(outcome = 'skipped'), 0)"
    )
    query = f"SELECT {counted} FROM runs WHERE schedule = ?"
    num_runs, num_missed, num_skipped = connection.execute(query, (name,)).fetchone()
    newest = _run_rows(connection, name, 1)
    folded = ("status", "plan", "next_due", "pause_reason", "running", "queued", "failures")
    return value_of(
        ScheduleView,
        row,
        id=name,
        **{field: getattr(state, field) for field in folded},
        starts_at=None if state.next_due is None else start_of(name, state.plan, state.next_due),
        num_runs=num_runs,
        num_missed=num_missed,
        num_skipped=num_skipped,
        totals=_totals(connection, name),
        last=_run(connection, newest[0]) if newest else None,
    )


def _totals(connection: Connection, schedule: str) -> UsageTotals:
    query = f"SELECT {TOTALS} FROM responses r WHERE {OF_SCHEDULE}"
    (row,) = fetched(connection, query, (schedule, stream_of(schedule)))
    return totals_of(row)


def projections(_sources: ViewSources) -> tuple[Projection, ...]:
    """Its projections."""
    return (Schedules(),)
