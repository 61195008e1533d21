"""What was used and what it cost, added up by day, session, model, purpose or schedule."""

from __future__ import annotations

from datetime import datetime, tzinfo
from sqlite3 import Connection
from typing import Literal

import msgspec

from hermes_jobs.domain.usage import Usage
from hermes_jobs.views.queries import TOKENS, fetched

SpendingKey = Literal["day", "session", "model", "purpose", "schedule"]

COLUMNS: dict[SpendingKey, str] = {
    "day": "date(u.at, 'localtime')",
    "session": "u.lineage",
    "model": "u.model",
    "purpose": "u.purpose",
    "schedule": "substr(turns.source, length('schedule:') + 1)",
}
_SUMS = ", ".join(f"coalesce(sum(u.{name}) FILTER (WHERE u.booked), 0) AS {name}" for name in TOKENS)
_ESTIMATED = ", ".join(
    f"coalesce(sum(u.{name}) FILTER (WHERE NOT u.booked), 0) AS estimated_{name}"
    for name in ("input_tokens", "output_tokens")
)
_SAME = "at, lineage, turn, model, purpose, cost_usd"


class Estimated(msgspec.Struct, frozen=True, kw_only=True):
    """Calls that ended without their response, and what they may have used and cost."""

    requests: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """One row: `key` is a day, a session's id, a model, a purpose or a schedule's id.

    `cost_usd` None where the price of one of its responses is not known. `unpriced` counts those. What is
    only `estimated` stands apart.
    """

    key: str
    requests: int
    unpriced: int
    usage: Usage
    cost_usd: float | None
    estimated: Estimated

    @property
    def cached_share(self) -> float:
        """Which part of the prompts came from the provider's cache."""
        return self.usage.cache_read_tokens / self.usage.prompt_tokens if self.usage.prompt_tokens else 0.0


def select_spending(
    connection: Connection, *, by: SpendingKey, since: str | None, zone: tzinfo | None = None
) -> tuple[Spending, ...]:
    """Every response of the log since that moment (ISO 8601, UTC), days in order, others dearest first.

    `zone` is where days begin, None for this machine's.
    """
    column = COLUMNS[by]
    if by == "day" and zone is not None:
        column = "day_in_zone(u.at)"
        connection.create_function("day_in_zone", 1, lambda at: _day(at, zone), deterministic=True)
    scheduled = by == "schedule"
    order = "1" if by == "day" else "cost_usd DESC, requests DESC, 1"
    query = f"""
        WITH u AS (
            SELECT {_SAME}, {", ".join(TOKENS)}, TRUE AS booked FROM responses
            UNION ALL
            SELECT {_SAME}, input_tokens, output_tokens, 0, 0, 0, FALSE FROM estimates
        )
        SELECT {column} AS spent_for, {_SUMS}, {_ESTIMATED}, {_costs("u.booked", "")},
            {_costs("NOT u.booked", "estimated_")}
        FROM u {"JOIN turns ON turns.turn = u.turn" if scheduled else ""}
        WHERE u.at >= ? {"AND turns.source LIKE 'schedule:%'" if scheduled else ""}
        GROUP BY 1 ORDER BY {order}
    """
    return tuple(
        Spending(
            key=row["spent_for"],
            requests=row["requests"],
            unpriced=row["requests"] - row["priced"],
            usage=Usage(**{name: row[name] for name in TOKENS}),
            cost_usd=row["cost_usd"],
            estimated=Estimated(
                requests=row["estimated_requests"],
                input_tokens=row["estimated_input_tokens"],
                output_tokens=row["estimated_output_tokens"],
                cost_usd=row["estimated_cost_usd"],
            ),
        )
        for row in fetched(connection, query, (since or "",))
    )


def _costs(condition: str, prefix: str) -> str:
    """How many there are, how many have a price, and the sum; one unknown price makes the sum unknown."""
    requests = f"count(*) FILTER (WHERE {condition})"
    priced = f"count(u.cost_usd) FILTER (WHERE {condition})"
    total = f"coalesce(sum(u.cost_usd) FILTER (WHERE {condition}), 0.0)"
    return f"""{requests} AS {prefix}requests, {priced} AS {prefix}priced,
        iif({requests} = {priced}, {total}, NULL) AS {prefix}cost_usd"""


def _day(at: str, zone: tzinfo) -> str:
    return datetime.fromisoformat(at).astimezone(zone).date().isoformat()
