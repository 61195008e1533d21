"""Deliveries as rows: pending, sent, failed, or in the inbox."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection, Row
from typing import Final, Literal

import msgspec

from hermes_jobs.features.deliveries.events import (
    INBOX,
    DeliveryFailed,
    DeliveryMoved,
    DeliveryPlaced,
    DeliveryRequested,
    DeliveryRevised,
    DeliverySent,
)
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.views.id_lookup import find_by_prefix
from hermes_jobs.kernel.views.projection import Projection, ViewSources
from hermes_jobs.kernel.views.rows import fetched, insert, update, value_of

DeliveryStatus = Literal["unread", "read", "waiting", "sent", "failed"]
_OF_THE_REQUEST = ("delivery", "target", "turn", "session", "source", "ok", "text")
IN_THE_INBOX = "status IN ('unread', 'failed')"


class DeliveryView(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery. `unread`, `failed` and `read` ones are in the inbox; `sent` ones reached their target.

    `attempts` counts those that failed in a row, `message` says why the last one did, and a `waiting` one is
    tried again at `retry_at` (seconds since the epoch). `changed_at` is the time of its newest event.
    """

    delivery: str
    target: str
    status: DeliveryStatus
    turn: str | None
    session: str | None
    source: str
    ok: bool
    text: str
    attempts: int
    message: str
    retry_at: float | None
    receipt: str
    requested_at: str
    changed_at: str

    @property
    def has_failed(self) -> bool:
        """Whether it never reached its target, whether or not it was read in the inbox."""
        return self.status == "failed" or (self.status == "read" and self.target != INBOX)


class Deliveries:
    """Table `deliveries`."""

    name: Final = "deliveries"
    tables: Final = """
        CREATE TABLE deliveries (
            delivery TEXT PRIMARY KEY, target TEXT NOT NULL, status TEXT NOT NULL, turn TEXT, session TEXT,
            source TEXT NOT NULL, ok INTEGER NOT NULL, text TEXT NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0, message TEXT NOT NULL DEFAULT '', retry_at REAL,
            receipt TEXT NOT NULL DEFAULT '', asks TEXT NOT NULL DEFAULT '',
            requested_at TEXT NOT NULL, changed_at TEXT NOT NULL, position INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX deliveries_by_position ON deliveries (position);
        CREATE INDEX deliveries_by_status ON deliveries (status, position);
        CREATE INDEX deliveries_by_turn ON deliveries (turn, position);
        CREATE INDEX deliveries_by_source ON deliveries (source, position);
        CREATE INDEX deliveries_that_ask ON deliveries (asks) WHERE asks != '';
    """

    event_types: Final = (
        DeliveryRequested,
        DeliveryPlaced,
        DeliverySent,
        DeliveryFailed,
        DeliveryMoved,
        DeliveryRevised,
    )

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, DeliveryRequested):
                _request(connection, recorded, event)
            elif isinstance(event, DeliveryRevised):
                update(connection, "deliveries", {"asks": ""}, delivery=event.delivery)
            elif isinstance(event, DeliveryPlaced | DeliverySent | DeliveryFailed | DeliveryMoved):
                changes = {**_changes(event), "changed_at": recorded.recorded_at}
                update(connection, "deliveries", changes, delivery=event.delivery)


def _request(connection: Connection, recorded: RecordedEvent, event: DeliveryRequested) -> None:
    same = {name: getattr(event, name) for name in _OF_THE_REQUEST}
    own = {
        "status": "unread" if event.target == INBOX else "waiting",
        "requested_at": recorded.recorded_at,
        "changed_at": recorded.recorded_at,
        "position": recorded.position,
        "asks": "" if event.question is None else event.question.call,
    }
    insert(connection, "deliveries", same | own)


def _changes(
    event: DeliveryPlaced | DeliverySent | DeliveryFailed | DeliveryMoved,
) -> dict[str, str | int | float | None]:
    """The columns that the event gives new values."""
    match event:
        case DeliveryPlaced():
            return {"receipt": event.receipt, "attempts": 0, "message": "", "retry_at": None}
        case DeliverySent():
            status = "read" if event.receipt == INBOX else "sent"
            return {"status": status, "receipt": event.receipt, "retry_at": None}
        case DeliveryFailed():
            return {
                "status": "failed" if event.retry_at is None else "waiting",
                "attempts": event.attempt,
                "message": event.message,
                "retry_at": event.retry_at,
            }
        case DeliveryMoved():
            return {
                "target": event.target,
                "receipt": "",
                "attempts": 0,
                "message": event.message,
                "retry_at": None,
            }


def select_deliveries(
    connection: Connection,
    *,
    turn: str | None = None,
    inbox: bool = False,
    limit: int | None = None,
) -> tuple[DeliveryView, ...]:
    """Deliveries, newest first: of a turn, only those in the inbox."""
    conditions = ["turn = ?"] * (turn is not None) + [IN_THE_INBOX] * inbox
    where = " AND ".join(conditions or ["TRUE"])
    query = f"SELECT * FROM deliveries WHERE {where} ORDER BY position DESC LIMIT ?"
    values = [*([] if turn is None else [turn]), -1 if limit is None else limit]
    return tuple(_delivery(row) for row in fetched(connection, query, values))


def select_delivery(connection: Connection, name: str) -> DeliveryView:
    """The delivery with that id or prefix, or `last`. Raises `Rejected`: `ambiguous`, `unknown_delivery`."""
    delivery = find_by_prefix(connection, "delivery", name, "deliveries", "hermes-jobs inbox list --all")
    (row,) = fetched(connection, "SELECT * FROM deliveries WHERE delivery = ?", (delivery,))
    return _delivery(row)


def select_open_questions(connection: Connection) -> tuple[str, ...]:
    """The deliveries whose questions are not over."""
    rows = connection.execute("SELECT delivery FROM deliveries WHERE asks != '' ORDER BY position")
    return tuple(delivery for (delivery,) in rows)


def count_unread(connection: Connection) -> int:
    """The number of deliveries in the inbox."""
    (count,) = connection.execute(f"SELECT count(*) FROM deliveries WHERE {IN_THE_INBOX}").fetchone()
    return int(count)


def _delivery(row: Row) -> DeliveryView:
    return value_of(DeliveryView, row, ok=bool(row["ok"]))


def projections(_sources: ViewSources) -> tuple[Projection, ...]:
    """Its projections."""
    return (Deliveries(),)
