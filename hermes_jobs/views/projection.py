"""The port of a projection: tables that are a function of the log, one batch of events after the other.

A projection writes its own tables alone, so that it can be read, tested and replaced by itself; readers may
join the tables of several. It is given every event of every stream in the order of their positions and picks
those it is about; how the events are cut into batches must not show in its rows. The connection is in a
transaction that also moves the checkpoint, and the projections that stand before this one have taken in the
whole batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Protocol

from hermes_jobs.eventlog.log import Recorded


class Projection(Protocol):
    """Rows that follow from events."""

    @property
    def name(self) -> str:
        """What it is called in messages."""

    @property
    def tables(self) -> str:
        """The DDL of its tables and indexes, one statement after the other, each ended by `;`."""

    def apply(self, connection: Connection, events: Sequence[Recorded]) -> None:
        """Take a batch of events into the tables."""
