"""Model calls that ended without their response, with their estimated usage; not among the responses.

A call that was killed, cancelled or too slow, or a response without reported usage. If the response of a
killed call arrives later, it is stored with the responses and the estimate is removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final, get_args

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.paid import PaidOutcome
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.streams import streams
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns.references import is_reference
from hermes_jobs.kernel.turns.session import lineage_of
from hermes_jobs.kernel.views.rows import fetched, insert, value_of

Estimated = e.StepAbandoned | PaidOutcome
"""Events that may hold an estimate."""

_ABANDON_REASONS = {"died": "its worker died", "shutdown": "its worker was stopped"}
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

    event_types: Final = (*get_args(Estimated), e.HelperCallStarted, e.OutcomeDiscarded)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the tables."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, e.OutcomeDiscarded) and event.reserved is not None:
                query = "DELETE FROM estimates WHERE step = ? AND attempt = ? AND worker = ?"
                connection.execute(query, (event.step, event.attempt, event.worker))
            elif isinstance(event, e.HelperCallStarted) and event.lost is not None:
                lost = event.lost
                used = {"model": lost.model, **_tokens(lost.usage), "cost_usd": lost.cost_usd}
                insert(connection, "estimates", _row(recorded, event, _ABANDON_REASONS["died"]) | used)
            elif isinstance(event, Estimated) and event.estimated != NO_USAGE:
                used = {"model": event.model, **_tokens(event.estimated)}
                row = _row(recorded, event, _reason(event)) | used
                insert(connection, "estimates", row | {"cost_usd": event.estimated_cost_usd})


def _row(recorded: RecordedEvent, event: Estimated | e.HelperCallStarted, reason: str) -> dict[str, object]:
    """The row without what was used."""
    return {
        "position": recorded.position,
        "at": recorded.recorded_at,
        "lineage": lineage_of(recorded.stream),
        "turn": getattr(event, "turn", None) or "",
        "step": event.step,
        "attempt": 1 if isinstance(event, e.ResponseBooked) else event.attempt,
        "worker": event.worker if isinstance(event, e.StepAbandoned) else recorded.meta.worker,
        "purpose": _purpose(recorded.stream, event),
        "reason": reason,
    }


def _tokens(usage: Usage) -> dict[str, int]:
    return {"input_tokens": usage.prompt_tokens, "output_tokens": usage.output_tokens}


def _purpose(stream: str, event: Estimated | e.HelperCallStarted) -> str:
    match event:
        case e.StepAbandoned():
            return "reference" if is_reference(event.step) else "turn"
        case e.ModelReplied() | e.ModelCallFailed() | e.ReferenceReplied() | e.ReferenceFailed():
            return event.purpose
        case e.ResponseBooked():
            return event.purpose
        case _:
            return streams.purpose_of(stream)


def _reason(event: Estimated) -> str:
    match event:
        case e.StepAbandoned():
            return _ABANDON_REASONS[event.reason]
        case e.HelperCallFailed():
            return _FAILED.get(event.kind, _ABANDON_REASONS["died"])
        case e.ModelCallFailed() | e.ReferenceFailed():
            return _FAILED.get(event.kind, "its answer broke off")
        case _:
            return "its usage was not reported"


def select_estimates(
    connection: Connection, *, since: str | None = None, turn: str | None = None
) -> tuple[Estimate, ...]:
    """The calls since that moment (ISO 8601, UTC), of all turns or of one, oldest first."""
    of_turn = "" if turn is None else "AND turn = ?"
    query = f"SELECT *, lineage AS session FROM estimates WHERE at >= ? {of_turn} ORDER BY position"
    values = (since or "", *(() if turn is None else (turn,)))
    return tuple(value_of(Estimate, row) for row in fetched(connection, query, values))
