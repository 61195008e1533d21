"""The data of a report: spending, waits, memory usage and scheduled runs, by period.

A period is a day, a week from Monday, or a month, called by its first day; days begin in `zone`, None for
this machine's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from sqlite3 import Connection
from typing import Literal

import msgspec

from hermes_jobs.features.schedules.rules.runs import ON_TIME
from hermes_jobs.features.usage.tables.usage import UnknownCost, select_unknown_costs
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.views.queries import TOKENS
from hermes_jobs.kernel.views.rows import fetched

Period = Literal["day", "week", "month"]

_LOCAL: dict[Period, str] = {
    "day": "date({at}, 'localtime')",
    "week": "date({at}, 'localtime', 'weekday 0', '-6 days')",
    "month": "date({at}, 'localtime', 'start of month')",
}
_DUE = "strftime('%Y-%m-%dT%H:%M:%fZ', due, 'unixepoch')"
_LATENESS = "(julianday(at) - 2440587.5) * 86400.0 - due - delay"


class PeriodSpending(msgspec.Struct, frozen=True, kw_only=True):
    """A model's usage for a purpose in a period. `cost_usd` is that of responses whose price is known, all
    but `unpriced` of them."""

    period: str
    model: str
    purpose: str
    requests: int
    unpriced: int
    usage: Usage
    cost_usd: float


class QueueWaits(msgspec.Struct, frozen=True, kw_only=True):
    """How long the steps that a queue began in a period had been due, in seconds. `p50` and `p95` are
    percentiles.
    """

    period: str
    queue: str
    steps: int
    p50: float
    p95: float
    longest: float


class MemoryUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a memory target at a period's end."""

    period: str
    target: str
    entries: int
    chars: int


class ScheduleRuns(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule's due times in a period, and their outcomes.

    `on_time` and `late` are runs of the clock, begun within `ON_TIME` seconds or later; `by_hand` were
    requested by a user or an agent. `failed` and `cancelled` count among the runs; `latest` is in seconds.
    """

    period: str
    schedule: str
    name: str
    on_time: int
    late: int
    missed: int
    failed: int
    cancelled: int
    by_hand: int
    latest: float


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """The turns of all sessions that were submitted in a period, by status."""

    period: str
    status: str
    turns: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything from the day `since` to the day `until`; `periods` are those of that time, in order."""

    since: str
    until: str
    period: Period
    periods: tuple[str, ...]
    turns: tuple[Activity, ...]
    spending: tuple[PeriodSpending, ...]
    waiting: tuple[QueueWaits, ...]
    waited: tuple[QueueWaits, ...]
    memory: tuple[MemoryUsage, ...]
    schedules: tuple[ScheduleRuns, ...]
    unknown_costs: tuple[UnknownCost, ...] = ()


def select_report(
    connection: Connection,
    *,
    since: datetime,
    until: datetime,
    period: Period = "day",
    zone: tzinfo | None = None,
) -> Report:
    """The report of the time between two moments. Times of `waited` are over all of it."""
    key = _keys(connection, period, zone)
    moment = since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    first, last = (bound.astimezone(zone).date() for bound in (since, until))
    days = periods(first, last, period)
    waiting, waited = _waits(connection, {_begin(day, zone): day for day in days}, moment)
    return Report(
        since=first.isoformat(),
        until=last.isoformat(),
        period=period,
        periods=days,
        turns=_turns(connection, key, moment),
        spending=_spending(connection, key, moment),
        waiting=waiting,
        waited=waited,
        memory=_memory(connection, key, days[0]),
        schedules=_schedules(connection, key, since.timestamp()),
        unknown_costs=select_unknown_costs(connection, since=moment),
    )


def periods(first: date, last: date, period: Period) -> tuple[str, ...]:
    """The periods that hold the days from the first to the last."""
    start, days = _start(first, period), []
    while start <= last:
        days.append(start.isoformat())
        start = _start(start + timedelta(days={"day": 1, "week": 7, "month": 31}[period]), period)
    return tuple(days)


def _start(day: date, period: Period) -> date:
    if period == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if period == "month" else day


def _begin(day: str, zone: tzinfo | None) -> str:
    """The moment in which a day begins, as the log writes moments."""
    midnight = datetime.fromisoformat(day)
    local = midnight.replace(tzinfo=zone) if zone else midnight.astimezone()
    return local.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _keys(connection: Connection, period: Period, zone: tzinfo | None) -> str:
    """The SQL for a moment's period; `{at}` stands for the moment."""
    if zone is None:
        return _LOCAL[period]
    of_minute = lru_cache(maxsize=None)(_in_zone(period, zone))
    connection.create_function("period_of", 1, of_minute, deterministic=True)
    return "period_of(substr({at}, 1, 16))"


def _in_zone(period: Period, zone: tzinfo) -> Callable[[str], str]:
    def key(minute: str) -> str:
        day = datetime.fromisoformat(minute).replace(tzinfo=UTC).astimezone(zone).date()
        return _start(day, period).isoformat()

    return key


def _turns(connection: Connection, key: str, since: str) -> tuple[Activity, ...]:
    query = f"""
        SELECT {key.format(at="submitted_at")} AS period, status, count(*) AS turns
        FROM turns WHERE submitted_at >= ? GROUP BY 1, 2 ORDER BY 1, 2
    """
    return tuple(Activity(**row) for row in fetched(connection, query, (since,)))


def _spending(connection: Connection, key: str, since: str) -> tuple[PeriodSpending, ...]:
    sums = ", ".join(f"sum({name}) AS {name}" for name in TOKENS)
    query = f"""
        SELECT {key.format(at="at")} AS period, model, purpose, count(*) AS requests, {sums},
            count(*) - count(cost_usd) AS unpriced, coalesce(sum(cost_usd), 0.0) AS cost_usd
        FROM responses WHERE at >= ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    """
    names = ("period", "model", "purpose", "requests", "unpriced", "cost_usd")
    return tuple(
        PeriodSpending(
            **{name: row[name] for name in names}, usage=Usage(**{name: row[name] for name in TOKENS})
        )
        for row in fetched(connection, query, (since,))
    )


def _waits(
    connection: Connection, days: Mapping[str, str], since: str
) -> tuple[tuple[QueueWaits, ...], tuple[QueueWaits, ...]]:
    """By period and queue, and by queue; `days` are the periods, in order, by the moments they begin in.

    There may be many rows: finding their periods and sorting them here takes a third of what SQL does.
    """
    begins, names = list(days), list(days.values())
    by_period: dict[tuple[int, str], list[float]] = defaultdict(list)
    rows = connection.execute("SELECT at, queue, seconds FROM waits WHERE at >= ?", (since,))
    for at, queue, seconds in rows:
        by_period[bisect_right(begins, at) - 1, queue].append(seconds)
    all_waits: dict[str, list[float]] = defaultdict(list)
    for (_, queue), waits in by_period.items():
        waits.sort()
        all_waits[queue] += waits
    waiting = tuple(_waited(names[at], queue, by_period[at, queue]) for at, queue in sorted(by_period))
    return waiting, tuple(_waited("", queue, sorted(all_waits[queue])) for queue in sorted(all_waits))


def _waited(period: str, queue: str, seconds: Sequence[float]) -> QueueWaits:
    """By the nearest rank, so that it is an actual wait."""
    steps = len(seconds)
    return QueueWaits(
        period=period,
        queue=queue,
        steps=steps,
        p50=seconds[-(-steps // 2) - 1],
        p95=seconds[-(-steps * 95 // 100) - 1],
        longest=seconds[-1],
    )


def _memory(connection: Connection, key: str, first: str) -> tuple[MemoryUsage, ...]:
    """The last of each period; values before the first period count in the first."""
    query = f"""
        SELECT max({key.format(at="at")}, ?) AS period, target, entries, chars, max(position)
        FROM fill GROUP BY 1, 2 ORDER BY 1, 2
    """
    names = ("period", "target", "entries", "chars")
    rows = fetched(connection, query, (first,))
    return tuple(MemoryUsage(**{name: row[name] for name in names}) for row in rows)


def _schedules(connection: Connection, key: str, since: float) -> tuple[ScheduleRuns, ...]:
    clock = "turn IS NOT NULL AND \"by\" = 'clock'"
    late = f"{clock} AND {_LATENESS} > {ON_TIME}"
    query = f"""
        SELECT {key.format(at=_DUE)} AS period, runs.schedule, schedules.name,
            count(*) FILTER (WHERE {clock} AND NOT ({late})) AS on_time,
            count(*) FILTER (WHERE {late}) AS late,
            coalesce(sum(count) FILTER (WHERE outcome = 'missed'), 0) AS missed,
            count(*) FILTER (WHERE outcome = 'failed') AS failed,
            count(*) FILTER (WHERE outcome = 'cancelled') AS cancelled,
            count(*) FILTER (WHERE turn IS NOT NULL AND NOT ({clock})) AS by_hand,
            coalesce(max(max(0.0, {_LATENESS})) FILTER (WHERE {clock}), 0.0) AS latest
        FROM runs JOIN schedules ON schedules.schedule = runs.schedule
        WHERE due >= ? GROUP BY 1, 2 ORDER BY 1, 3, 2
    """
    return tuple(ScheduleRuns(**row) for row in fetched(connection, query, (since,)))
