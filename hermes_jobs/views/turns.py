"""Turns as rows, and every response that they paid for.

A turn that waits for an approval is `running` here: whether one of its calls waits is for `steps` to say.
What was said is read from `messages`, which stand before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final

from msgspec.structs import astuple

from hermes_jobs.domain import events as e
from hermes_jobs.domain.streams import SESSIONS
from hermes_jobs.domain.usage import NO_USAGE
from hermes_jobs.eventlog.log import Recorded

OF_THE_END = ("ended_at", "error_kind", "error_message", "error_hint", "stopped_by", "cancelled_by")
COLUMNS = (
    *("position", "turn", "lineage", "session", "source", "status", "model", "into", "reply", "answer"),
    *("error_kind", "error_message", "error_hint", "stopped_by", "cancelled_by"),
    *("submitted_at", "began_waiting_at", "begun_at", "ended_at", "seen_at", "compressed"),
)

Row = dict[str, str | int | None]


class Turns:
    """Tables `turns` and `responses`.

    A turn's text stands in `messages` at its position. `reply` is the position of its last reply; where that
    is the answer, `answer` is null.
    """

    name: Final = "turns"
    tables: Final = """
        CREATE TABLE turns (
            position INTEGER PRIMARY KEY, turn TEXT NOT NULL UNIQUE, lineage TEXT NOT NULL,
            session TEXT NOT NULL, source TEXT NOT NULL, status TEXT NOT NULL, model TEXT NOT NULL,
            "into" TEXT, reply INTEGER, answer TEXT, error_kind TEXT, error_message TEXT, error_hint TEXT,
            stopped_by TEXT, cancelled_by TEXT, submitted_at TEXT NOT NULL, began_waiting_at TEXT NOT NULL,
            begun_at TEXT, ended_at TEXT, seen_at TEXT NOT NULL, compressed INTEGER NOT NULL
        );
        CREATE INDEX turns_by_lineage ON turns (lineage, position);
        CREATE INDEX turns_by_status ON turns (status, position);
        CREATE TABLE responses (
            position INTEGER PRIMARY KEY, lineage TEXT NOT NULL, turn TEXT NOT NULL, at TEXT NOT NULL,
            step TEXT NOT NULL, model TEXT NOT NULL, purpose TEXT NOT NULL, input_tokens INTEGER NOT NULL,
            output_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL,
            cache_write_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL, cost_usd REAL
        );
        CREATE INDEX responses_by_turn ON responses (turn);
        CREATE INDEX responses_by_lineage ON responses (lineage);
    """

    def apply(self, connection: Connection, events: Sequence[Recorded]) -> None:
        """Take a batch of events into the tables."""
        new: dict[str, Row] = {}
        changed: dict[str, Row] = {}
        for recorded in events:
            event = recorded.event
            if isinstance(event, e.TurnSubmitted):
                new[event.turn] = _submitted(recorded, event)
                continue
            _book(connection, recorded)
            turn = _concerned(recorded)
            if turn is not None:
                row = new.get(turn)
                if row is None:
                    row = changed.setdefault(turn, {})
                row.update(_changes(connection, recorded, row), seen_at=recorded.recorded_at)
        connection.executemany(
            f"INSERT INTO turns ({_names(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})",
            [tuple(map(row.get, COLUMNS)) for row in new.values()],
        )
        for turn, row in changed.items():
            assignments = ", ".join(f'"{column}" = ?' for column in row)
            connection.execute(f"UPDATE turns SET {assignments} WHERE turn = ?", (*row.values(), turn))


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _concerned(recorded: Recorded) -> str | None:
    """The turn whose life the event is part of: other streams, and who waits for a turn, only name it."""
    event = recorded.event
    if not recorded.stream.startswith(SESSIONS) or isinstance(event, e.ReviewStarted):
        return None
    turn: str | None = getattr(event, "turn", None)
    return turn


def _submitted(recorded: Recorded, event: e.TurnSubmitted) -> Row:
    opening = event.opening.model if event.opening else None
    at = recorded.recorded_at
    return {
        "position": recorded.position,
        "turn": event.turn,
        "lineage": recorded.stream.removeprefix("session-"),
        "session": event.session,
        "source": event.source,
        "status": "queued",
        "model": event.model or opening or "",
        "submitted_at": at,
        "began_waiting_at": at,
        "seen_at": at,
        "compressed": 0,
    }


def _changes(connection: Connection, recorded: Recorded, row: Row) -> Row:  # noqa: PLR0911 - one line a fact
    """The columns that the event gives new values; `row` is what the batch says of the turn so far."""
    event, at = recorded.event, recorded.recorded_at
    match event:
        case e.ContextPrefetched():
            return {"status": "running", "begun_at": at, "model": event.model}
        case e.ModelCallStarted():
            return {"status": "running"}  # a resumed turn is not prefetched again
        case e.ModelReplied():
            return {"reply": recorded.position}
        case e.ContextCompressed():
            return {"compressed": 1}
        case e.TurnMerged():
            return {"status": "merged", "into": event.into, "ended_at": at}
        case e.TurnResumed():
            return {"status": "queued", "began_waiting_at": at, **dict.fromkeys(OF_THE_END)}
        case e.TurnCompleted():
            said = _reply(connection, event.turn, row)
            answer = None if said == event.answer else event.answer
            return {"status": "completed", "ended_at": at, "answer": answer, "stopped_by": event.stopped_by}
        case e.TurnFailed():
            error: Row = {"error_kind": event.kind, "error_message": event.message, "error_hint": event.hint}
            return {"status": "failed", "ended_at": at, **error}
        case e.TurnCancelled():
            return {"status": "cancelled", "ended_at": at, "cancelled_by": event.by}
        case _:
            return {}


def _reply(connection: Connection, turn: str, row: Row) -> str | None:
    """The text of the turn's last reply."""
    position = row.get("reply")
    chosen = "(SELECT reply FROM turns WHERE turn = ?)" if position is None else "?"
    query = f"SELECT content FROM messages WHERE position = {chosen}"
    said = connection.execute(query, (turn if position is None else position,)).fetchone()
    return None if said is None else str(said[0])


def _book(connection: Connection, recorded: Recorded) -> None:
    """A row for each response, whatever became of it."""
    event = recorded.event
    match event:
        case e.ModelReplied():
            purpose, cost = event.purpose, event.cost_usd
        case e.ModelCallFailed():
            purpose, cost = event.purpose, 0.0 if event.usage == NO_USAGE else event.cost_usd
        case e.OutcomeDiscarded() if event.model:
            purpose, cost = "discarded", event.cost_usd
        case e.ResponseBooked():
            purpose, cost = event.purpose, event.cost_usd
        case e.ScheduleWorded():
            purpose, cost = "schedule", event.cost_usd
        case _:
            return
    connection.execute(
        f"INSERT INTO responses VALUES ({', '.join('?' * 13)})",
        (
            recorded.position,
            recorded.stream.removeprefix("session-"),
            getattr(event, "turn", None) or "",
            recorded.recorded_at,
            getattr(event, "step", ""),
            event.model,
            purpose,
            *astuple(event.usage),
            cost,
        ),
    )
