"""Model calls that ended without their response, with what they may have used: never among the responses.

A call that was killed, cancelled or too slow, and a response whose usage was not reported. Where the response
of a killed call comes after all, it stands among the responses and its estimate is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final

import msgspec

from hermes_jobs.domain import events as e
from hermes_jobs.domain.budgets import CallOutcome
from hermes_jobs.domain.consolidation import PURPOSE as CONSOLIDATE
from hermes_jobs.domain.embedding import Outcome as Embedded
from hermes_jobs.domain.replay.replay import Outcome
from hermes_jobs.domain.replay.verification import purpose_of
from hermes_jobs.domain.session.references import is_reference
from hermes_jobs.domain.session.session import lineage_of
from hermes_jobs.domain.usage import NO_USAGE, Reservation
from hermes_jobs.eventlog.log import RecordedEvent
from hermes_jobs.views.queries import fetched

_LEFT = {"died": "its worker died", "shutdown": "its worker was stopped"}
_FAILED = {"cancelled": "it was cancelled", "timeout": "it took too long"}


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """One such call. `session` is its lineage's first; `cost_usd` None where the price is not known."""

    at: str
    session: str
    turn: str
    step: str
    attempt: int
    worker: str
    model: str
    purpose: str
    reason: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class Estimates:
    """Table `estimates`."""

    name: Final = "estimates"
    tables: Final = """
        CREATE TABLE estimates (
            position INTEGER PRIMARY KEY, at TEXT NOT NULL, lineage TEXT NOT NULL, turn TEXT NOT NULL,
            step TEXT NOT NULL, attempt INTEGER NOT NULL, worker TEXT NOT NULL, model TEXT NOT NULL,
            purpose TEXT NOT NULL, reason TEXT NOT NULL, input_tokens INTEGER NOT NULL,
            output_tokens INTEGER NOT NULL, cost_usd REAL
        );
        CREATE INDEX estimates_by_turn ON estimates (turn);
    """

    event_types: Final = (
        e.StepAbandoned,
        e.ModelReplied,
        e.ModelCallFailed,
        e.ReferenceReplied,
        e.ReferenceFailed,
        e.ResponseBooked,
        e.OutcomeDiscarded,
        e.ReplayCallStarted,
        e.ReplayCallEnded,
        e.ReplayCallFailed,
        e.EmbeddingStarted,
        e.EmbeddingEnded,
        e.EmbeddingFailed,
        e.ConsolidationStarted,
        e.ConsolidationFailed,
    )

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the tables."""
        for recorded in events:
            match recorded.event:
                case e.StepAbandoned(estimated=estimated) as event if estimated != NO_USAGE:
                    purpose = "reference" if is_reference(event.step) else "turn"
                    _insert(connection, recorded, event, purpose, _LEFT[event.reason])
                case (
                    e.ModelReplied(estimated=estimated) | e.ReferenceReplied(estimated=estimated)
                ) as event if estimated != NO_USAGE:
                    _insert(connection, recorded, event, event.purpose, "its usage was not reported")
                case (
                    e.ModelCallFailed(estimated=estimated) | e.ReferenceFailed(estimated=estimated)
                ) as event if estimated != NO_USAGE:
                    reason = _FAILED.get(event.kind, "its answer broke off")
                    _insert(connection, recorded, event, event.purpose, reason)
                case e.ResponseBooked(estimated=estimated) as event if estimated != NO_USAGE:
                    _insert(connection, recorded, event, event.purpose, "its usage was not reported")
                case e.ReplayCallStarted(lost=Reservation() as lost) as event:
                    ended = e.ReplayCallFailed(
                        step=event.step,
                        attempt=event.attempt,
                        kind="worker_lost",
                        message="",
                        model=lost.model,
                        estimated=lost.usage,
                        estimated_cost_usd=lost.cost_usd,
                    )
                    _insert(connection, recorded, ended, purpose_of(recorded.stream), _LEFT["died"])
                case (
                    e.ReplayCallEnded(estimated=estimated) | e.ReplayCallFailed(estimated=estimated)
                ) as event if estimated != NO_USAGE:
                    _insert(
                        connection, recorded, event, purpose_of(recorded.stream), "its usage was not reported"
                    )
                case e.EmbeddingStarted(lost=Reservation() as lost) as event:
                    given_up = e.EmbeddingFailed(
                        step=event.step,
                        attempt=event.attempt,
                        kind="worker_lost",
                        message="",
                        model=lost.model,
                        estimated=lost.usage,
                        estimated_cost_usd=lost.cost_usd,
                    )
                    _insert(connection, recorded, given_up, "embedding", _LEFT["died"])
                case (
                    e.EmbeddingEnded(estimated=estimated) | e.EmbeddingFailed(estimated=estimated)
                ) as event if estimated != NO_USAGE:
                    _insert(connection, recorded, event, "embedding", "its usage was not reported")
                case (
                    e.ConsolidationStarted(lost=Reservation() as lost)
                    | e.ConsolidationFailed(lost=Reservation() as lost)
                ) as event:
                    _insert(connection, recorded, _lost(event.step, lost), CONSOLIDATE, _LEFT["died"])
                case e.OutcomeDiscarded(reserved=reserved) as event if reserved is not None:
                    connection.execute(
                        "DELETE FROM estimates WHERE step = ? AND attempt = ? AND worker = ?",
                        (event.step, event.attempt, event.worker),
                    )
                case _:
                    pass


def _insert(
    connection: Connection,
    recorded: RecordedEvent,
    event: e.StepAbandoned | CallOutcome | e.ResponseBooked | Outcome | Embedded,
    purpose: str,
    reason: str,
) -> None:
    worker = event.worker if isinstance(event, e.StepAbandoned) else recorded.meta.worker
    attempt = 1 if isinstance(event, e.ResponseBooked) else event.attempt
    connection.execute(
        f"INSERT INTO estimates VALUES ({', '.join('?' * 13)})",
        (
            recorded.position,
            recorded.recorded_at,
            lineage_of(recorded.stream),
            getattr(event, "turn", None) or "",
            event.step,
            attempt,
            worker,
            event.model,
            purpose,
            reason,
            event.estimated.prompt_tokens,
            event.estimated.output_tokens,
            event.estimated_cost_usd,
        ),
    )


def _lost(step: str, reserved: Reservation) -> e.ResponseBooked:
    """The response that nobody has of a call whose worker died."""
    return e.ResponseBooked(
        turn=None,
        step=step,
        purpose=CONSOLIDATE,
        model=reserved.model,
        estimated=reserved.usage,
        estimated_cost_usd=reserved.cost_usd,
    )


def select_estimates(
    connection: Connection, *, since: str | None = None, turn: str | None = None
) -> tuple[Estimate, ...]:
    """The calls since that moment (ISO 8601, UTC), of all turns or of one, oldest first."""
    of_turn = "" if turn is None else "AND turn = ?"
    query = f"SELECT *, lineage AS session FROM estimates WHERE at >= ? {of_turn} ORDER BY position"
    values = (since or "", *(() if turn is None else (turn,)))
    names = Estimate.__struct_fields__
    return tuple(
        Estimate(**{name: row[name] for name in names}) for row in fetched(connection, query, values)
    )
