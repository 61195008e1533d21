"""Reviews as rows: request, status, results and cost."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final, Literal

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.consolidation import events as consolidation_events
from hermes_jobs.features.consolidation.rules import PREFIX as CONSOLIDATIONS
from hermes_jobs.features.consolidation.rules import lineage_of as consolidated_lineage
from hermes_jobs.features.consolidation.rules import review_of
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns import review_rules
from hermes_jobs.kernel.turns.session import lineage_of
from hermes_jobs.kernel.views.id_lookup import find_reference
from hermes_jobs.kernel.views.projection import Projection, ViewSources
from hermes_jobs.kernel.views.queries import TOTALS
from hermes_jobs.kernel.views.rows import fetched, insert, update, value_of
from hermes_jobs.text.figures import pluralize

ReviewStatus = Literal["waiting", "running", "completed", "failed", "cancelled"]


class ReviewView(msgspec.Struct, frozen=True, kw_only=True):
    """A review. `lineage` is the reviewed conversation, after `turn`; it runs in the session of its own id,
    as the turn `work` after its start.

    `saved` describes its results in a line, empty without any; `message` is the reason of its failure, or
    names the failed model that another one replaced. `cost_usd` None if a price is not known.
    """

    id: str
    kind: e.ReviewKind | Literal["consolidate"]
    status: ReviewStatus
    reason: str
    lineage: str
    turn: str | None
    work: str | None
    saved: str
    message: str
    num_model_calls: int
    cost_usd: float | None
    requested_at: str
    ended_at: str | None


class Reviews:
    """Table `reviews`."""

    name: Final = "reviews"
    tables: Final = """
        CREATE TABLE reviews (
            review TEXT PRIMARY KEY, kind TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL,
            lineage TEXT NOT NULL, turn TEXT, work TEXT, saved TEXT NOT NULL DEFAULT '',
            message TEXT NOT NULL DEFAULT '', requested_at TEXT NOT NULL, ended_at TEXT,
            position INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX reviews_by_position ON reviews (position);
        CREATE INDEX reviews_by_lineage ON reviews (lineage, position);
    """

    event_types: Final = (
        e.ReviewRequested,
        e.ReviewStarted,
        e.ReviewCompleted,
        e.ReviewFailed,
        consolidation_events.ConsolidationRequested,
        consolidation_events.ConsolidationEnded,
        e.HelperCallStarted,
        e.HelperCallFailed,
    )

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, e.ReviewRequested | consolidation_events.ConsolidationRequested):
                _request(connection, recorded, event)
            elif isinstance(event, _Change):
                update(connection, "reviews", _changes(event, recorded.recorded_at), review=event.review)
            elif isinstance(event, _Call) and recorded.stream.startswith(CONSOLIDATIONS):
                columns = _after_call(event, recorded.recorded_at)
                update(connection, "reviews", columns, review=review_of(event.step))


_Change = e.ReviewStarted | e.ReviewCompleted | e.ReviewFailed | consolidation_events.ConsolidationEnded
_Call = e.HelperCallStarted | e.HelperCallFailed


def _request(
    connection: Connection,
    recorded: RecordedEvent,
    event: e.ReviewRequested | consolidation_events.ConsolidationRequested,
) -> None:
    kind, lineage, turn = "consolidate", consolidated_lineage(recorded.stream), None
    if isinstance(event, e.ReviewRequested):
        kind, lineage, turn = event.kind, lineage_of(recorded.stream), event.turn
    row = {
        "review": event.review,
        "kind": kind,
        "status": "waiting",
        "reason": event.reason,
        "lineage": lineage,
        "turn": turn,
        "requested_at": recorded.recorded_at,
        "position": recorded.position,
    }
    insert(connection, "reviews", row, replaces=True)


def _changes(event: _Change, at: str) -> dict[str, str | None]:
    """The columns that the event gives new values."""
    if isinstance(event, consolidation_events.ConsolidationEnded):
        return {"status": "completed", "saved": _observed(event), "message": _refused(event), "ended_at": at}
    if isinstance(event, e.ReviewStarted):
        return {"status": "running", "work": event.turn, "message": "", "ended_at": None}
    if isinstance(event, e.ReviewCompleted):
        return {
            "status": "completed",
            "saved": event.saved,
            "message": review_rules.stood_in(event.failures),
            "ended_at": at,
        }
    return _failed(event, at)


def _after_call(event: _Call, at: str) -> dict[str, str | None]:
    if isinstance(event, e.HelperCallStarted):
        return {"status": "running", "message": "", "ended_at": None}
    if event.retry_at is not None:
        return {"status": "waiting", "message": event.message}
    return _failed(event, at)


def _failed(event: e.ReviewFailed | e.HelperCallFailed, at: str) -> dict[str, str | None]:
    status = "cancelled" if event.kind == "cancelled" else "failed"
    return {"status": status, "message": event.message, "ended_at": at}


def _observed(event: consolidation_events.ConsolidationEnded) -> str:
    return pluralize(event.saved, "observation") if event.saved else ""


def _refused(event: consolidation_events.ConsolidationEnded) -> str:
    """The refused writes with their reasons."""
    already_known = [f"{pluralize(event.known, 'observation')} known before"] if event.known else []
    return "; ".join(
        [
            *already_known,
            *(f"observation {refusal.number}{_verb(refusal)}: {refusal.why}" for refusal in event.refused),
        ]
    )


def _verb(refusal: consolidation_events.RefusedObservation) -> str:
    return "" if refusal.kind == "held" else " refused"


def select_reviews(connection: Connection, limit: int | None = None) -> tuple[ReviewView, ...]:
    """Reviews, newest first."""
    newest = "TRUE GROUP BY v.review ORDER BY v.position DESC LIMIT ?"
    return _reviews(connection, newest, (-1 if limit is None else limit,))


def select_review(connection: Connection, name: str) -> ReviewView:
    """The review with that id or unique prefix, or `last`. Raises `Rejected`."""
    name = find_reference(connection, "review", name) or name
    matching = _reviews(
        connection,
        "v.review >= ? AND v.review < ? GROUP BY v.review"
        " ORDER BY v.review = ? DESC, v.position DESC LIMIT 3",
        (name, name + "\U0010ffff", name),
    )
    exact = [review for review in matching if review.id == name] or list(matching)
    if len(exact) == 1 and name:
        return exact[0]
    if not exact or not name:
        message = f"There is no review {name!r}."
        raise Rejected(message, kind="unknown_review", hint="See `hermes-jobs reviews list`.")
    names = ", ".join(review.id for review in exact)
    raise Rejected(f"{name!r} fits several reviews: {names}.", kind="ambiguous", hint="Give more of its id.")


def _reviews(connection: Connection, rest: str, values: Sequence[object]) -> tuple[ReviewView, ...]:
    query = f"""
        SELECT v.*, {TOTALS} FROM reviews v LEFT JOIN responses r ON r.lineage = v.review WHERE {rest}
    """
    return tuple(value_of(ReviewView, row, id=row["review"]) for row in fetched(connection, query, values))


def projections(_sources: ViewSources) -> tuple[Projection, ...]:
    """Its projections."""
    return (Reviews(),)
