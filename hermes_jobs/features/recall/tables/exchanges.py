"""Exchanges: a user's text and the model's answer, as rows that can have vectors.

An exchange ends where the next text of a person follows an answer, or when it has `CHARS` characters. Results
of tools are in none, nor are searches of earlier conversations.
"""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final, NamedTuple

from hermes_jobs.features.recall.rules import digest_of
from hermes_jobs.features.search.tables.search_index import OF_THE_PAST
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.session import lineage_of
from hermes_jobs.kernel.turns.synthetic_messages import is_unfinished
from hermes_jobs.kernel.views.list_filters import OF_PEOPLE
from hermes_jobs.kernel.views.message_texts import Texts, text_of

CHARS = 1_500


class Exchange(NamedTuple):
    """One exchange: the digest of its texts, which are in the log at these positions."""

    stream: str
    digest: str
    positions: tuple[int, ...]
    chars: int

    def texts(self, texts: Texts) -> tuple[str, ...]:
        """The texts, in order."""
        by_position = texts(self.positions)
        return tuple(by_position[position] for position in self.positions)


class Exchanges:
    """Table `exchanges`. `answered`: whether it has a text of the model."""

    name: Final = "exchanges"
    tables: Final = """
        CREATE TABLE exchanges (
            exchange INTEGER PRIMARY KEY, lineage TEXT NOT NULL, positions TEXT NOT NULL,
            digest TEXT NOT NULL, chars INTEGER NOT NULL, answered INTEGER NOT NULL, at TEXT NOT NULL
        );
        CREATE INDEX exchanges_by_lineage ON exchanges (lineage, exchange);
        CREATE INDEX exchanges_by_digest ON exchanges (digest);
    """
    event_types: Final = (e.TurnSubmitted, e.ModelReplied, e.ModelCallFailed)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        (newest,) = connection.execute("SELECT coalesce(max(exchange), 0) FROM exchanges").fetchone()
        last: dict[str, _Row | None] = {}
        touched: dict[int, _Row] = {}
        for recorded in events:
            text = _text_of(recorded.event)
            if not text:
                continue
            lineage, asks = lineage_of(recorded.stream), isinstance(recorded.event, e.TurnSubmitted)
            row = last[lineage] if lineage in last else _last(connection, lineage)
            if row is None or row.chars >= CHARS or (asks and row.answered):
                newest += 1
                row = _Row(newest, lineage, "", "", 0, 0, "")
            row = row._replace(
                positions=f"{row.positions} {recorded.position}".strip(),
                digest=digest_of((text,), row.digest),
                chars=row.chars + len(text),
                answered=int(row.answered or not asks),
                at=recorded.recorded_at,
            )
            last[lineage] = touched[row.exchange] = row
        connection.executemany(
            "INSERT OR REPLACE INTO exchanges VALUES (?, ?, ?, ?, ?, ?, ?)", touched.values()
        )


class _Row(NamedTuple):
    exchange: int
    lineage: str
    positions: str
    digest: str
    chars: int
    answered: int
    at: str


def _last(connection: Connection, lineage: str) -> _Row | None:
    query = "SELECT * FROM exchanges WHERE lineage = ? ORDER BY exchange DESC LIMIT 1"
    row = connection.execute(query, (lineage,)).fetchone()
    return None if row is None else _Row(*row)


def _text_of(event: e.Event) -> str:
    """The user's or the model's text in it."""
    match event:
        case e.TurnSubmitted():
            return text_of(event)
        case e.ModelReplied() if not any(call.name in OF_THE_PAST for call in event.tool_calls):
            return text_of(event)
        case e.ModelCallFailed() if is_unfinished(event):
            return text_of(event)
        case _:
            return ""


LINEAGES: Final = f"(SELECT lineage FROM lineages WHERE {OF_PEOPLE})"
"""A query for the lineages whose exchanges are searched: of users, and not deleted."""


def positions_of(written: str) -> tuple[int, ...]:
    """The column `positions` as numbers."""
    return tuple(map(int, written.split()))
