"""Held calls: the table, and the queries."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection, Row
from typing import Final, Literal

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.holding import events as e
from hermes_jobs.kernel.events import TextsForgotten
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.views.projection import Projection, ViewSources
from hermes_jobs.kernel.views.rows import fetched, insert, update, value_of
from hermes_jobs.text.moments import iso

HeldStatus = Literal["waiting", "kept", "dropped", "expired"]


class Held:
    """Table `held`: a row for each call that was held; the same one again has the same row. Those of a
    deleted session go."""

    name: Final = "held"
    tables: Final = """
        CREATE TABLE held (
            held TEXT PRIMARY KEY, position INTEGER NOT NULL, at TEXT NOT NULL, expires_at REAL NOT NULL,
            status TEXT NOT NULL, tool TEXT NOT NULL, arguments TEXT NOT NULL, outside BLOB NOT NULL,
            session TEXT NOT NULL, turn TEXT NOT NULL, by TEXT NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX held_by_status ON held (status, position);
    """
    event_types: Final = (e.CallHeld, e.HeldCallKept, e.HeldCallDropped, TextsForgotten)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            match recorded.event:
                case e.CallHeld() as call:
                    insert(connection, "held", _row(recorded, call), replaces=True)
                case e.HeldCallKept(held=held, by=by):
                    update(connection, "held", {"status": "kept", "by": by}, held=held)
                case e.HeldCallDropped(held=held, by=by):
                    update(connection, "held", {"status": "dropped", "by": by}, held=held)
                case TextsForgotten(sessions=deleted):
                    gone = [(session,) for session in deleted]
                    connection.executemany("DELETE FROM held WHERE session = ?", gone)
                case _:
                    pass


def _row(recorded: RecordedEvent, call: e.CallHeld) -> dict[str, object]:
    return {
        "held": call.held,
        "position": recorded.position,
        "at": recorded.recorded_at,
        "expires_at": call.expires_at,
        "status": "waiting",
        "tool": call.tool,
        "arguments": call.arguments,
        "outside": msgspec.json.encode(call.outside),
        "session": call.session,
        "turn": call.turn,
        "by": "",
    }


class HeldView(msgspec.Struct, frozen=True, kw_only=True):
    """A held call. `outside`: the origins of what others wrote in its conversation; `at` and
    `expires_at` in ISO 8601, UTC; `by`: the person who decided."""

    held: str
    status: HeldStatus
    at: str
    expires_at: str
    tool: str
    arguments: str
    outside: tuple[str, ...]
    session: str
    turn: str
    by: str


_STATUS = "CASE WHEN status = 'waiting' AND expires_at <= ? THEN 'expired' ELSE status END AS status"
_COLUMNS = f"held, at, expires_at, tool, arguments, outside, session, turn, by, {_STATUS}"


def select_held(
    connection: Connection, now: float, *, everything: bool = False, since: str = ""
) -> tuple[HeldView, ...]:
    """Those that wait, or all, newest first; those held after that moment (ISO 8601, UTC)."""
    which = "1" if everything else "status = 'waiting'"
    rows = f"SELECT position, {_COLUMNS} FROM held WHERE at > ?"
    query = f"SELECT * FROM ({rows}) WHERE {which} ORDER BY position DESC"
    return tuple(map(_view, fetched(connection, query, (now, since))))


def select_one_held(connection: Connection, name: str, now: float) -> HeldView:
    """The one with that id or beginning of it. Raises `Rejected`: `ambiguous`, `unknown_held`."""
    query = f"SELECT {_COLUMNS} FROM held WHERE substr(held, 1, length(?)) = ? ORDER BY held LIMIT 6"
    rows = fetched(connection, query, (now, name, name)) if name else []
    if len(rows) == 1 or (rows and rows[0]["held"] == name):
        return _view(rows[0])
    if not rows:
        hint = "See `hermes-jobs held list --all`."
        raise Rejected(f"Nothing with the id {name!r} was held.", kind="unknown_held", hint=hint)
    names = ", ".join(row["held"] for row in rows)
    raise Rejected(f"{name!r} fits several: {names}.", kind="ambiguous", hint="Give more of the id.")


def _view(row: Row) -> HeldView:
    outside = msgspec.json.decode(row["outside"], type=tuple[str, ...])
    return value_of(HeldView, row, outside=outside, expires_at=iso(row["expires_at"]))


def projections(_sources: ViewSources) -> tuple[Projection, ...]:
    """Its projections."""
    return (Held(),)
