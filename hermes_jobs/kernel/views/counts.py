"""Totals since the log began: turns by their end and duration, tool calls, takeovers. For metrics."""

from __future__ import annotations

from collections.abc import Mapping
from sqlite3 import Connection

import msgspec

BOUNDS = (0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
"""Seconds: the upper bounds of durations that are counted together, besides infinity."""

ENDED = ("completed", "failed", "cancelled")
_SECONDS = "(julianday(ended_at) - julianday(began_waiting_at)) * 86400.0"
_TAKEOVER_REASONS = ("its worker died", "its worker was stopped", "unknown_outcome", "worker_lost")


class Durations(msgspec.Struct, frozen=True, kw_only=True):
    """Turns with one end. `below` counts, for each of `BOUNDS`, those that took no longer."""

    count: int
    seconds: float
    below: tuple[int, ...]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """`turns` by status, with separate counts of those that wait for a user or a quota; `tool_calls` by tool
    and outcome; `takeovers`: attempts whose worker died or stopped; `children` by depth and how they ended,
    or `open`.
    """

    turns: Mapping[str, int]
    durations: Mapping[str, Durations]
    tool_calls: Mapping[tuple[str, str], int]
    takeovers: int
    children: Mapping[tuple[int, str], int] = {}


def select_counts(connection: Connection) -> Counts:
    """Everything at one moment. A turn's time counts from its submission, or its last retry."""
    turns = dict(connection.execute("SELECT status, count(*) FROM turns GROUP BY 1 ORDER BY 1").fetchall())
    waiting = (
        "SELECT count(*) FROM (SELECT turn FROM steps WHERE outcome = 'waiting'"
        " UNION SELECT turn FROM turns WHERE status = 'running' AND waits_until IS NOT NULL)"
    )
    turns["waiting"] = connection.execute(waiting).fetchone()[0]
    turns["running"] = turns.get("running", 0) - turns["waiting"]
    tools = connection.execute(
        "SELECT calls.name, steps.outcome, count(*) FROM steps JOIN calls ON calls.call = steps.step"
        " WHERE steps.kind = 'tool_call' AND steps.ended_at IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"
    )
    takeovers = f"SELECT count(*) FROM steps WHERE message IN ({', '.join('?' * len(_TAKEOVER_REASONS))})"
    children = "SELECT depth, coalesce(ended, 'open'), count(*) FROM children GROUP BY 1, 2 ORDER BY 1, 2"
    return Counts(
        turns=turns,
        durations=_durations(connection),
        tool_calls={(name, outcome): count for name, outcome, count in tools},
        takeovers=connection.execute(takeovers, _TAKEOVER_REASONS).fetchone()[0],
        children={(depth, ended): count for depth, ended, count in connection.execute(children)},
    )


def _durations(connection: Connection) -> dict[str, Durations]:
    below = ", ".join(f"coalesce(sum(seconds <= {bound}), 0)" for bound in BOUNDS)
    rows = connection.execute(
        "WITH ended AS MATERIALIZED ("  # so that the time is computed once per turn
        f"SELECT status, max({_SECONDS}, 0.0) AS seconds FROM turns"
        f" WHERE ended_at IS NOT NULL AND status IN ({', '.join('?' * len(ENDED))}))"
        f" SELECT status, count(*), sum(seconds), {below} FROM ended GROUP BY 1 ORDER BY 1",
        ENDED,
    )
    return {
        status: Durations(count=count, seconds=seconds, below=tuple(counts))
        for status, count, seconds, *counts in rows
    }
