"""Responses of models as rows, and their usage and cost by day, session, model, purpose, schedule or tree."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from sqlite3 import Connection
from typing import Final, Literal

import msgspec

from hermes_jobs.features.consolidation.rules import PREFIX as CONSOLIDATIONS
from hermes_jobs.features.consolidation.rules import review_of
from hermes_jobs.features.replay import events as replay_events
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.features.schedules.rules.schedule import stream_of
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.paid import PaidOutcome, billed_usd
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.streams import streams
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.session import lineage_of
from hermes_jobs.kernel.views.queries import OF_SCHEDULE, TOKENS
from hermes_jobs.kernel.views.rows import fetched


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
        schedules_events.ScheduleWorded,
        e.HelperCallEnded,
        e.HelperCallFailed,
        replay_events.ReplayCallEnded,
    )

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        rows = [row for recorded in events if (row := _row(recorded)) is not None]
        connection.executemany(f"INSERT INTO responses VALUES ({', '.join('?' * 13)})", rows)


def _row(recorded: RecordedEvent) -> tuple[object, ...] | None:
    event = recorded.event
    match event:
        case e.ReferenceFailed(model="") | e.HelperCallEnded(model="") | e.HelperCallFailed(model=""):
            return None  # no model call
        case e.OutcomeDiscarded() if event.model:
            purpose = "discarded"
        case schedules_events.ScheduleWorded():
            purpose = "schedule"
        case replay_events.ReplayCallEnded() | e.HelperCallEnded() | e.HelperCallFailed():
            purpose = streams.purpose_of(recorded.stream)
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
        billed_usd(event) if isinstance(event, PaidOutcome) else event.cost_usd,
    )


def _lineage(stream: str, event: e.Event) -> str:
    """The lineage that is charged; for a consolidation it is the id of its review."""
    return review_of(getattr(event, "step", "")) if stream.startswith(CONSOLIDATIONS) else lineage_of(stream)


SpendingKey = Literal["day", "session", "model", "purpose", "schedule", "root"]

COLUMNS: dict[SpendingKey, str] = {
    "day": "date(u.at, 'localtime')",
    "session": "u.lineage",
    "model": "u.model",
    "purpose": "u.purpose",
    "schedule": "substr(turns.source, length('schedule:') + 1)",
    "root": "coalesce(c.root_turn, nullif(u.turn, ''), u.lineage)",
}
_SUMS = ", ".join(f"coalesce(sum(u.{name}) FILTER (WHERE u.booked), 0) AS {name}" for name in TOKENS)
_ESTIMATED = ", ".join(
    f"coalesce(sum(u.{name}) FILTER (WHERE NOT u.booked), 0) AS estimated_{name}"
    for name in ("input_tokens", "output_tokens")
)
_SAME = "at, lineage, turn, model, purpose, cost_usd"


class Estimated(msgspec.Struct, frozen=True, kw_only=True):
    """Calls that ended without their response, with their estimated usage and cost."""

    requests: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class UnknownCost(msgspec.Struct, frozen=True, kw_only=True):
    """Responses of a model whose cost is not known: without a price, or (`unreported`) without usage."""

    model: str
    requests: int
    unreported: int


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """One row: `key` is a day, a session's id, a model, a purpose, a schedule's id, or the turn at the root
    of a tree (what no turn used goes to its session). `num_turns` used it.

    `cost_usd` None where that of one of its responses is not known; `unpriced` counts those, and
    `known_cost_usd` leaves them out. `estimated` usage is separate.
    """

    key: str
    requests: int
    unpriced: int
    usage: Usage
    cost_usd: float | None
    known_cost_usd: float
    estimated: Estimated
    num_turns: int

    @property
    def cached_share(self) -> float:
        """Which part of the prompts came from the provider's cache."""
        return self.usage.cache_read_tokens / self.usage.prompt_tokens if self.usage.prompt_tokens else 0.0


def select_spending(
    connection: Connection, *, by: SpendingKey, since: str | None = None, zone: tzinfo | None = None
) -> tuple[Spending, ...]:
    """Every response of the log since that moment (ISO 8601, UTC), days in order, others dearest first.

    `zone` is where days begin, None for this machine's.
    """
    column = COLUMNS[by]
    if by == "day" and zone is not None:
        column = "day_in_zone(u.at)"
        connection.create_function("day_in_zone", 1, lambda at: _day(at, zone), deterministic=True)
    scheduled = by == "schedule"
    joined = {
        "schedule": "JOIN turns ON turns.turn = u.turn",
        "root": "LEFT JOIN children c ON c.turn = u.turn",
    }
    order = "1" if by == "day" else "cost_usd DESC, requests DESC, 1"
    query = f"""
        WITH u AS (
            SELECT {_SAME}, {", ".join(TOKENS)}, TRUE AS booked FROM responses
            UNION ALL
            SELECT {_SAME}, input_tokens, output_tokens, 0, 0, 0, FALSE FROM estimates
        )
        SELECT {column} AS spent_for, {_SUMS}, {_ESTIMATED}, {_costs("u.booked", "")},
            {_costs("NOT u.booked", "estimated_")}, count(DISTINCT nullif(u.turn, '')) AS num_turns
        FROM u {joined.get(by, "")}
        WHERE u.at >= ? {"AND turns.source LIKE 'schedule:%'" if scheduled else ""}
        GROUP BY 1 ORDER BY {order}
    """
    return tuple(
        Spending(
            key=row["spent_for"],
            requests=row["requests"],
            unpriced=row["requests"] - row["priced"],
            usage=Usage(*(row[name] for name in TOKENS)),
            cost_usd=row["cost_usd"],
            known_cost_usd=row["known_cost_usd"],
            estimated=Estimated(
                requests=row["estimated_requests"],
                input_tokens=row["estimated_input_tokens"],
                output_tokens=row["estimated_output_tokens"],
                cost_usd=row["estimated_cost_usd"],
            ),
            num_turns=row["num_turns"],
        )
        for row in fetched(connection, query, (since or "",))
    )


_LABELS = {
    "session": "SELECT lineage, coalesce(title, preview) FROM lineages WHERE lineage",
    "schedule": "SELECT schedule, name FROM schedules WHERE schedule",
    "root": "SELECT turn, preview FROM turns WHERE turn",
}


def select_labels(connection: Connection, by: SpendingKey, keys: Sequence[str]) -> dict[str, str]:
    """The titles of the sessions, schedules or turns of these ids; empty for other keys."""
    if by not in _LABELS:
        return {}
    query = f"{_LABELS[by]} IN (SELECT value FROM json_each(?))"
    return dict(connection.execute(query, (msgspec.json.encode(keys).decode(),)).fetchall())


def select_unknown_costs(
    connection: Connection,
    *,
    since: str = "",
    turns: Sequence[str] | None = None,
    lineage: str | None = None,
    schedule: str | None = None,
) -> tuple[UnknownCost, ...]:
    """The responses since that moment (ISO 8601, UTC) whose cost is not known, by model; of some turns, a
    lineage or a schedule only, where those are given.
    """
    chosen: list[tuple[str, Sequence[str]]] = []
    if turns is not None:
        chosen.append((f"turn IN ({', '.join('?' * len(turns))})", turns))
    if lineage is not None:
        chosen.append(("lineage = ?", [lineage]))
    if schedule is not None:
        chosen.append((OF_SCHEDULE, [schedule, stream_of(schedule)]))
    among = "".join(f" AND ({condition})" for condition, _ in chosen)
    query = f"""
        SELECT model, count(*) AS requests, count(*) FILTER (WHERE {" + ".join(TOKENS)} = 0) AS unreported
        FROM responses r WHERE cost_usd IS NULL AND at >= ?{among} GROUP BY model ORDER BY 2 DESC, 1
    """
    rows = fetched(connection, query, (since, *(name for _, names in chosen for name in names)))
    return tuple(UnknownCost(**row) for row in rows)


def _costs(condition: str, prefix: str) -> str:
    """How many there are, how many have a price, and the sum; one unknown price makes the sum unknown."""
    requests = f"count(*) FILTER (WHERE {condition})"
    priced = f"count(u.cost_usd) FILTER (WHERE {condition})"
    total = f"coalesce(sum(u.cost_usd) FILTER (WHERE {condition}), 0.0)"
    return f"""{requests} AS {prefix}requests, {priced} AS {prefix}priced, {total} AS {prefix}known_cost_usd,
        iif({requests} = {priced}, {total}, NULL) AS {prefix}cost_usd"""


def _day(at: str, zone: tzinfo) -> str:
    return datetime.fromisoformat(at).astimezone(zone).date().isoformat()
