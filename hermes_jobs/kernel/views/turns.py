"""Turns as rows.

A turn that waits for a person is `running` here: `steps` shows whether one of its calls waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from sqlite3 import Connection
from typing import Final

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES
from hermes_jobs.kernel.streams.streams import SESSIONS
from hermes_jobs.kernel.turns.context_notices import turn_warnings
from hermes_jobs.kernel.turns.session import lineage_of
from hermes_jobs.kernel.views.message_texts import Texts
from hermes_jobs.kernel.views.rows import insert_all, update
from hermes_jobs.kernel.views.sessions import preview

OF_THE_END = (
    *("ended_at", "waits_until", "waits_for", "stopped_by", "cancelled_by"),
    *("error_kind", "error_message", "error_hint", "rating", "rating_note"),
)

Row = dict[str, str | int | None]


class Turns:
    """Table `turns`, `warnings` for their warnings, and `delivered_files`.

    `waits_until`: when the quota resets that the turn waits for, or when it is tried again for the reason
    `waits_for`.
    A turn's text is in the log at its position. `reply` is the position of its last reply; where that is
    the answer, `answer` is None.
    """

    name: Final = "turns"
    tables: Final = """
        CREATE TABLE turns (
            position INTEGER PRIMARY KEY, turn TEXT NOT NULL UNIQUE, lineage TEXT NOT NULL,
            session TEXT NOT NULL, source TEXT NOT NULL, preview TEXT NOT NULL, status TEXT NOT NULL,
            model TEXT NOT NULL, "into" TEXT, reply INTEGER, answer TEXT, error_kind TEXT,
            error_message TEXT, error_hint TEXT, stopped_by TEXT, cancelled_by TEXT,
            submitted_at TEXT NOT NULL, began_waiting_at TEXT NOT NULL, begun_at TEXT, ended_at TEXT,
            seen_at TEXT NOT NULL, compressed INTEGER NOT NULL, waits_until TEXT,
            has_schema INTEGER NOT NULL, ensemble TEXT NOT NULL, rating TEXT, rating_note TEXT,
            waits_for TEXT, labels TEXT
        );
        CREATE TABLE warnings (turn TEXT NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL);
        CREATE TABLE delivered_files (turn TEXT NOT NULL, position INTEGER NOT NULL, file TEXT NOT NULL);
        CREATE INDEX delivered_files_by_turn ON delivered_files (turn, position);
        CREATE INDEX warnings_by_turn ON warnings (turn, position);
        CREATE INDEX turns_by_lineage ON turns (lineage, position);
        CREATE INDEX turns_by_status ON turns (status, position);
    """
    event_types: Final = tuple(kind for kind in EVENT_TYPES.values() if "turn" in kind.__struct_fields__)

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the tables."""
        new: dict[str, Row] = {}
        changed: dict[str, Row] = {}
        replies: dict[str, str] = {}
        for recorded in events:
            event = recorded.event
            turn = _concerned(recorded)
            if turn is None:
                continue
            if isinstance(event, e.TurnSubmitted):
                new[turn] = _submitted(recorded, event)
                continue
            row = new.get(turn)
            if row is None:
                row = changed.setdefault(turn, {})
            row.update(_changes(event, recorded), seen_at=recorded.recorded_at)
            if isinstance(event, e.ModelReplied):
                replies[turn] = event.content
            elif isinstance(event, e.TurnCompleted):
                is_known = turn in replies or turn in new
                reply = replies.get(turn) if is_known else self._reply(connection, turn)
                row["answer"] = None if reply == event.answer else event.answer
        insert_all(connection, "turns", list(new.values()))
        connection.executemany(
            "INSERT INTO warnings VALUES (?, ?, ?)",
            [
                (turn, record.position, text)
                for record in events
                for text in turn_warnings(record.event)
                if (turn := _concerned(record)) is not None
            ],
        )
        connection.executemany("INSERT INTO delivered_files VALUES (?, ?, ?)", _files(events))
        for turn, row in changed.items():
            update(connection, "turns", row, turn=turn)

    def _reply(self, connection: Connection, turn: str) -> str | None:
        """The text of the turn's last reply."""
        (reply,) = connection.execute("SELECT reply FROM turns WHERE turn = ?", (turn,)).fetchone()
        return None if reply is None else self._texts([reply])[reply]


def _files(events: Sequence[RecordedEvent]) -> Iterator[tuple[str, int, str]]:
    """The files that turns deliver, as rows."""
    for recorded in events:
        event = recorded.event
        if isinstance(event, e.FilesDelivered):
            for file in event.attachments:
                yield event.turn, recorded.position, msgspec.json.encode(file).decode()


def _concerned(recorded: RecordedEvent) -> str | None:
    """The turn that the event changes. Events of other streams, and of waiting turns, only name it."""
    event = recorded.event
    if not recorded.stream.startswith(SESSIONS) or isinstance(event, e.ReviewStarted):
        return None
    turn: str | None = getattr(event, "turn", None)
    return turn


def _submitted(recorded: RecordedEvent, event: e.TurnSubmitted) -> Row:
    opening = event.opening.model if event.opening else None
    at = recorded.recorded_at
    return {
        "position": recorded.position,
        "turn": event.turn,
        "lineage": lineage_of(recorded.stream),
        "session": event.session,
        "source": event.source,
        "preview": preview(event.text),
        "status": "queued",
        "model": event.model or opening or "",
        "submitted_at": at,
        "began_waiting_at": at,
        "seen_at": at,
        "compressed": 0,
        "has_schema": int(bool(event.answer_schema)),
        "ensemble": "",
    }


def _changes(event: e.Event, recorded: RecordedEvent) -> Row:  # noqa: PLR0911, PLR0912 - one line an event
    """The columns that the event gives new values, apart from `answer`."""
    at = recorded.recorded_at
    match event:
        case e.TurnPostponed():
            return {"status": "running", "waits_until": _moment(event.retry_at), "waits_for": event.reason}
        case e.ContextPrefetched():
            begun: Row = {"status": "running", "begun_at": at, "waits_until": None, "waits_for": None}
            return {**begun, "model": event.model, "ensemble": event.ensemble}
        case e.ModelCallStarted() | e.ReferenceStarted():
            return {"status": "running", "waits_until": None}  # a resumed turn is not prefetched again
        case e.ModelCallFailed():
            until = None if event.quota_until is None else _moment(event.quota_until)
            moved = {"model": moved_to} if (moved_to := event.fallback or event.back_to) else {}
            return {"waits_until": until, **moved}
        case e.WaitEnded():
            return {"waits_until": None, "waits_for": None, **({"model": event.model} if event.model else {})}
        case e.ModelReplied():
            return {"reply": recorded.position}
        case e.ContextCompressed():
            return {"compressed": 1}
        case e.TurnMerged():
            return {"status": "merged", "into": event.into, "ended_at": at}
        case e.TurnResumed():
            chosen = {"model": event.model, "ensemble": event.ensemble} if event.model else {}
            return {"status": "queued", "began_waiting_at": at, **dict.fromkeys(OF_THE_END), **chosen}
        case e.TurnCompleted():
            return {
                "status": "completed",
                "ended_at": at,
                "waits_until": None,
                "stopped_by": event.stopped_by,
            }
        case e.TurnFailed():
            error: Row = {"error_kind": event.kind, "error_message": event.message, "error_hint": event.hint}
            return {"status": "failed", "ended_at": at, "waits_until": None, "waits_for": None, **error}
        case e.TurnCancelled():
            ended: Row = {"status": "cancelled", "ended_at": at, "waits_until": None, "waits_for": None}
            return {**ended, "cancelled_by": event.by}
        case e.TurnLabelled():
            return {"labels": msgspec.json.encode(event.labels).decode() if event.labels else None}
        case e.TurnRated():
            return {"rating": None if event.rating == "none" else event.rating, "rating_note": event.note}
        case _:
            return {}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
