"""Sub-agents as rows: the session and turn that started each, its tree, and its end.

A tree consists of turns: a child is represented by its first turn. Later turns that users send into its
session are in no tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection, Row
from typing import Final

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.session import lineage_of

COLUMNS: Final = ("parent", "parent_turn", "root", "root_turn", "depth", "role", "goal", "ended")
PLACE: Final = ", ".join(f"c.{name} AS place_{name}" for name in COLUMNS)
"""Columns of a query in which the table is called `c`, for `place_of`."""


CHAIN: Final = """WITH own(lineage) AS (SELECT ?) SELECT lineage FROM own
    UNION SELECT above_lineage FROM ancestors JOIN own USING (lineage)
    UNION SELECT a.lineage FROM ancestors a JOIN own ON a.above_lineage = own.lineage"""
"""A query for a lineage, those that delegated to it, and those that it delegated to; not for its siblings."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a child in its tree: the session and the turn that started it, and those at the root.

    `depth` is 1 below the root; `role` the kind of sub-agent, empty for one like its parent; `goal` the
    beginning of its task. `ended`: its end as reported to its parent; None while it runs.
    """

    parent: str
    parent_turn: str
    root: str
    root_turn: str
    depth: int
    role: str
    goal: str
    ended: e.ChildStatus | None


class Children:
    """Tables `children`, a row each, and `ancestors`, a row for each turn above each of them."""

    name: Final = "children"
    tables: Final = """
        CREATE TABLE children (
            turn TEXT PRIMARY KEY, lineage TEXT NOT NULL UNIQUE, parent TEXT NOT NULL,
            parent_turn TEXT NOT NULL, root TEXT NOT NULL, root_turn TEXT NOT NULL, depth INTEGER NOT NULL,
            role TEXT NOT NULL, goal TEXT NOT NULL, ended TEXT
        ) WITHOUT ROWID;
        CREATE TABLE ancestors (
            turn TEXT NOT NULL, lineage TEXT NOT NULL, above TEXT NOT NULL, above_lineage TEXT NOT NULL,
            PRIMARY KEY (above, turn)
        ) WITHOUT ROWID;
        CREATE INDEX ancestors_by_turn ON ancestors (turn);
        CREATE INDEX ancestors_by_lineage ON ancestors (lineage);
        CREATE INDEX ancestors_by_lineage_above ON ancestors (above_lineage);
    """
    event_types: Final = (e.ChildrenStarted, e.ChildEnded)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the tables."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, e.ChildrenStarted):
                _begin(connection, lineage_of(recorded.stream), event)
            elif isinstance(event, e.ChildEnded):
                connection.execute(
                    "UPDATE children SET ended = ? WHERE lineage = ?", (event.status, event.child)
                )


def _begin(connection: Connection, parent: str, event: e.ChildrenStarted) -> None:
    query = "SELECT root, root_turn, depth FROM children WHERE turn = ?"
    root, root_turn, depth = connection.execute(query, (event.turn,)).fetchone() or (parent, event.turn, 0)
    above = connection.execute("SELECT above, above_lineage FROM ancestors WHERE turn = ?", (event.turn,))
    payers = [*above.fetchall(), (event.turn, parent)]
    connection.executemany(
        "INSERT INTO children VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
        [
            (ref.turn, ref.session, parent, event.turn, root, root_turn, depth + 1, ref.role, ref.goal)
            for ref in event.children
        ],
    )
    connection.executemany(
        "INSERT INTO ancestors VALUES (?, ?, ?, ?)",
        [(ref.turn, ref.session, *payer) for ref in event.children for payer in payers],
    )


def place_of(row: Row) -> Place | None:
    """The columns of `PLACE` as a value; None where the row is not a child's."""
    if row["place_parent"] is None:
        return None
    return Place(**{name: row[f"place_{name}"] for name in COLUMNS})
