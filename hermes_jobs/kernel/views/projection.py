"""The port of a projection: tables derived from the log, batch by batch.

A projection writes only its own tables, so that it can be tested and replaced independently; queries may join
the tables of several. It receives the events of its `event_types`, of every stream in the order of their
positions; its rows must not depend on the size of the batches. The connection is in a transaction that also
moves the checkpoint, and earlier projections in the list have applied the whole batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sqlite3 import Connection
from typing import NamedTuple, Protocol

from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.views.message_texts import DocumentTexts, LargeResults, Texts


class Projection(Protocol):
    """Rows that follow from events."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def tables(self) -> str:
        """The DDL of its tables and indexes, one statement after the other, each ended by `;`."""

    @property
    def event_types(self) -> Iterable[type[Event]]:
        """The types of events that it reads."""

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of such events, at least one, into the tables."""


class ViewSources(NamedTuple):
    """What rows are made of besides the events themselves."""

    result: LargeResults
    texts: Texts
    documents: DocumentTexts


class Router:
    """Gives each projection the events of its types."""

    def __init__(self, projections: Sequence[Projection]) -> None:
        self._projections = tuple(projections)
        self._hearers: dict[type[Event], list[int]] = {}
        for number, projection in enumerate(self._projections):
            for kind in projection.event_types:
                self._hearers.setdefault(kind, []).append(number)

    def apply(self, connection: Connection, events: Iterable[RecordedEvent]) -> None:
        """Take a batch of events into all tables."""
        batches: list[list[RecordedEvent]] = [[] for _ in self._projections]
        hearers = {kind: [batches[at] for at in numbers] for kind, numbers in self._hearers.items()}
        for recorded in events:
            for batch in hearers.get(type(recorded.event), ()):
                batch.append(recorded)
        for projection, batch in zip(self._projections, batches, strict=True):
            if batch:
                projection.apply(connection, batch)
