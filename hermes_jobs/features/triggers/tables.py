"""Triggers and the turns that they start: the tables, and the queries."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final, get_args

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.triggers import events as e
from hermes_jobs.features.triggers.rules.trigger import TriggerStatus
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.views.projection import Projection, ViewSources
from hermes_jobs.kernel.views.rows import fetched, insert, update, value_of
from hermes_jobs.system.struct_types import described


class Triggers:
    """Tables `triggers`, with the plan of each as JSON, and `firings`, a row for each turn that was or will
    be started. A removed trigger's rows stay."""

    name: Final = "triggers"
    tables: Final = """
        CREATE TABLE triggers (
            name TEXT PRIMARY KEY, plan BLOB NOT NULL, status TEXT NOT NULL, added_at TEXT NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE firings (
            position INTEGER PRIMARY KEY, name TEXT NOT NULL, turn TEXT NOT NULL UNIQUE,
            session TEXT NOT NULL, at TEXT NOT NULL, count INTEGER NOT NULL, status TEXT NOT NULL,
            message TEXT NOT NULL
        );
        CREATE INDEX firings_by_trigger ON firings (name, position);
    """
    event_types: Final = get_args(e.TriggerEvent)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the tables."""
        for recorded in events:
            _take(connection, recorded)


def _take(connection: Connection, recorded: RecordedEvent) -> None:
    match recorded.event:
        case e.TriggerAdded(trigger=name, plan=plan):
            changed = {"plan": msgspec.json.encode(plan)}
            query = "SELECT 1 FROM triggers WHERE name = ? AND status != 'removed'"
            if connection.execute(query, (name,)).fetchone():
                update(connection, "triggers", changed, name=name)
            else:
                row = {"name": name, **changed, "status": "active", "added_at": recorded.recorded_at}
                insert(connection, "triggers", row, replaces=True)
        case e.TriggerPaused(trigger=name):
            update(connection, "triggers", {"status": "paused"}, name=name)
        case e.TriggerResumed(trigger=name):
            update(connection, "triggers", {"status": "active"}, name=name)
        case e.TriggerRemoved(trigger=name):
            update(connection, "triggers", {"status": "removed"}, name=name)
            connection.execute(
                "UPDATE firings SET status = 'dropped' WHERE name = ? AND status = 'pending'", (name,)
            )
        case e.TriggerFired() as fired:
            _fired(connection, recorded, fired)
        case e.TriggerStarted(turn=turn):
            update(connection, "firings", {"status": "started"}, turn=turn)
        case e.TriggerFailed(turn=turn, message=message):
            update(connection, "firings", {"status": "failed", "message": message}, turn=turn)
        case _:
            pass


def _fired(connection: Connection, recorded: RecordedEvent, fired: e.TriggerFired) -> None:
    query = "UPDATE firings SET count = count + 1 WHERE turn = ?"
    if connection.execute(query, (fired.turn,)).rowcount:
        return
    row = {
        "position": recorded.position,
        "name": fired.trigger,
        "turn": fired.turn,
        "session": fired.session,
        "at": recorded.recorded_at,
        "count": 1,
        "status": "pending",
        "message": "",
    }
    insert(connection, "firings", row)


class FiringView(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of a trigger, fired `count` times. `status`: that of the turn, or `pending`, `dropped`, `failed`
    before there was one; `at`: the first firing."""

    turn: str
    session: str
    at: str
    count: int
    status: str
    message: str


class TriggerView(msgspec.Struct, frozen=True, kw_only=True):
    """A trigger; `num_turns` counts its turns, `last` is the newest one."""

    name: str
    status: TriggerStatus
    plan: e.TriggerPlan
    added_at: str
    num_turns: int
    last: FiringView | None


def select_triggers(connection: Connection) -> tuple[TriggerView, ...]:
    """All that were not removed, by name."""
    rows = fetched(connection, "SELECT name FROM triggers WHERE status != 'removed' ORDER BY name")
    return tuple(select_trigger(connection, row["name"]) for row in rows)


def select_trigger(connection: Connection, name: str) -> TriggerView:
    """One trigger. Raises `Rejected`, kind `unknown_trigger`."""
    rows = fetched(connection, "SELECT * FROM triggers WHERE name = ?", (name,))
    if not rows:
        raise Rejected(
            f"There is no trigger {name!r}.",
            kind="unknown_trigger",
            hint="See `hermes-jobs triggers list`.",
        )
    (count,) = connection.execute("SELECT count(*) FROM firings WHERE name = ?", (name,)).fetchone()
    newest = select_firings(connection, name, limit=1)
    return value_of(
        TriggerView,
        rows[0],
        plan=msgspec.json.decode(rows[0]["plan"], type=described(e.TriggerPlan)),
        num_turns=count,
        last=newest[0] if newest else None,
    )


def select_plan(connection: Connection, name: str) -> e.TriggerPlan | None:
    """The plan of a trigger that was not removed."""
    query = "SELECT plan FROM triggers WHERE name = ? AND status != 'removed'"
    row = connection.execute(query, (name,)).fetchone()
    return None if row is None else msgspec.json.decode(row[0], type=described(e.TriggerPlan))


def select_firings(connection: Connection, name: str, limit: int = 20) -> tuple[FiringView, ...]:
    """The turns of the trigger, newest first."""
    query = """
        SELECT f.turn, f.session, f.at, f.count, f.message,
            CASE f.status WHEN 'started' THEN coalesce(turns.status, 'queued') ELSE f.status END AS status
        FROM firings f LEFT JOIN turns ON turns.turn = f.turn
        WHERE f.name = ? ORDER BY f.position DESC LIMIT ?
    """
    return tuple(value_of(FiringView, row) for row in fetched(connection, query, (name, limit)))


def projections(_sources: ViewSources) -> tuple[Projection, ...]:
    """Its projections."""
    return (Triggers(),)
