"""A report's rows added up over all periods, by a chosen key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from hermes_jobs.features.usage.tables.report import PeriodSpending, ScheduleRuns
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage

SpentKey = Literal["period", "model", "purpose"]


class SpendingTotal(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of a key. `cost_usd` leaves out `unpriced` responses, whose price is not known."""

    key: str
    requests: int = 0
    unpriced: int = 0
    usage: Usage = NO_USAGE
    cost_usd: float = 0.0

    @property
    def exact_cost_usd(self) -> float | None:
        """The cost; None where a part of it is not known."""
        return None if self.unpriced else self.cost_usd

    @property
    def cached_share(self) -> float:
        """The share of the prompts that came from the provider's cache."""
        return self.usage.cache_read_tokens / self.usage.prompt_tokens if self.usage.prompt_tokens else 0.0


def totals_by(rows: Iterable[PeriodSpending], key: SpentKey) -> Sequence[SpendingTotal]:
    """The usage by key: periods in order, others by cost, highest first."""
    totals: dict[str, SpendingTotal] = {}
    for row in rows:
        name = getattr(row, key) or "unknown"
        totals[name] = _plus(totals.get(name, SpendingTotal(key=name)), row)
    if key == "period":
        return sorted(totals.values(), key=lambda total: total.key)
    return sorted(totals.values(), key=lambda total: (-total.cost_usd, -total.usage.total_tokens, total.key))


def total_of(rows: Iterable[PeriodSpending]) -> SpendingTotal:
    """The total of all rows."""
    total = SpendingTotal(key="")
    for row in rows:
        total = _plus(total, row)
    return total


def runs_by_schedule(rows: Iterable[ScheduleRuns]) -> Sequence[ScheduleRuns]:
    """The outcomes of each schedule's due times, by its name; `period` is empty."""
    by_name: dict[str, ScheduleRuns] = {}
    for row in rows:
        before = by_name.get(row.schedule)
        counts = ("on_time", "late", "missed", "failed", "cancelled", "by_hand")
        sums = {name: getattr(row, name) + (getattr(before, name) if before else 0) for name in counts}
        latest = max(row.latest, before.latest if before else 0.0)
        by_name[row.schedule] = msgspec.structs.replace(row, period="", latest=latest, **sums)
    return sorted(by_name.values(), key=lambda total: (total.name, total.schedule))


def _plus(total: SpendingTotal, row: PeriodSpending) -> SpendingTotal:
    return SpendingTotal(
        key=total.key,
        requests=total.requests + row.requests,
        unpriced=total.unpriced + row.unpriced,
        usage=total.usage + row.usage,
        cost_usd=total.cost_usd + row.cost_usd,
    )
