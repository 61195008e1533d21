"""Every response of a model as a row, used or discarded: its usage and its cost."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final

from hermes_jobs.domain import events as e
from hermes_jobs.domain.consolidation import PREFIX as CONSOLIDATIONS
from hermes_jobs.domain.consolidation import review_of
from hermes_jobs.domain.replay.verification import purpose_of
from hermes_jobs.domain.session.session import lineage_of
from hermes_jobs.eventlog.log import RecordedEvent
from hermes_jobs.views.queries import TOKENS


class Responses:
    """Table `responses`."""

    name: Final = "responses"
    tables: Final = """
        CREATE TABLE responses (
            position INTEGER PRIMARY KEY, lineage TEXT NOT NULL, turn TEXT NOT NULL, at TEXT NOT NULL,
            step TEXT NOT NULL, model TEXT NOT NULL, purpose TEXT NOT NULL, input_tokens INTEGER NOT NULL,
            output_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL,
            cache_write_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL, cost_usd REAL
        );
        CREATE INDEX responses_by_turn ON responses (turn);
        CREATE INDEX responses_by_lineage ON responses (lineage);
    """
    event_types: Final = (
        e.ModelReplied,
        e.ModelCallFailed,
        e.ReferenceReplied,
        e.ReferenceFailed,
        e.OutcomeDiscarded,
        e.ResponseBooked,
        e.ScheduleWorded,
        e.ReplayCallEnded,
        e.ReplayCallFailed,
        e.EmbeddingEnded,
        e.EmbeddingFailed,
    )

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        rows = [row for recorded in events if (row := _row(recorded)) is not None]
        connection.executemany(f"INSERT INTO responses VALUES ({', '.join('?' * 13)})", rows)


def _row(recorded: RecordedEvent) -> tuple[object, ...] | None:
    event = recorded.event
    match event:
        case e.ReferenceFailed(model="") | e.ReplayCallFailed(model="") | e.EmbeddingFailed(model=""):
            return None  # no model was called
        case e.EmbeddingEnded(dimensions=0):
            return None
        case e.OutcomeDiscarded() if event.model:
            purpose = "discarded"
        case e.ScheduleWorded():
            purpose = "schedule"
        case e.ReplayCallEnded() | e.ReplayCallFailed():
            purpose = purpose_of(recorded.stream)
        case e.EmbeddingEnded() | e.EmbeddingFailed():
            purpose = "embedding"
        case e.ModelReplied() | e.ModelCallFailed() | e.ReferenceReplied() | e.ReferenceFailed():
            purpose = event.purpose
        case e.ResponseBooked():
            purpose = event.purpose
        case _:
            return None
    return (
        recorded.position,
        _lineage(recorded.stream, event),
        getattr(event, "turn", None) or "",
        recorded.recorded_at,
        getattr(event, "step", ""),
        event.model,
        purpose,
        *(getattr(event.usage, name) for name in TOKENS),
        e.billed_usd(event) if isinstance(event, e.PaidOutcome) else event.cost_usd,
    )


def _lineage(stream: str, event: e.Event) -> str:
    """The lineage to which it is booked; that of a consolidation is named after its review, as others are."""
    return review_of(getattr(event, "step", "")) if stream.startswith(CONSOLIDATIONS) else lineage_of(stream)
