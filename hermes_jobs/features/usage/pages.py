"""A report as a page: charts and tables of cost, waiting times, memory and schedules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from hermes_jobs.features.memory.rules.memory import TARGETS, Limits
from hermes_jobs.features.usage.tables.report import PeriodSpending, QueueWaits, Report
from hermes_jobs.features.usage.tables.totals import SpentKey, runs_by_schedule, total_of, totals_by
from hermes_jobs.interfaces.html.charts import Block, ChartLine, bars, line, stacked, ticks
from hermes_jobs.interfaces.html.render import Redact, render
from hermes_jobs.text import figures

ROW = 44.0  # pixels that a queue's bars are high


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """A queue's waiting: over all of the time, and by period as bars."""

    waited: QueueWaits
    blocks: tuple[Block, ...]


class MemoryFill(msgspec.Struct, frozen=True, kw_only=True):
    """A target of the memory: its final fill level, and its history. `share` is of its limit."""

    name: str
    entries: int
    chars: int
    limit: int
    line: ChartLine

    @property
    def share(self) -> float:
        """The share of its limit."""
        return self.chars / self.limit


def report_page(report: Report, limits: Limits, redact: Redact) -> str:
    """The page, as HTML."""
    turns = {
        status: sum(activity.turns for activity in report.turns if activity.status == status)
        for status in ("completed", "failed", "cancelled")
    }
    return render(
        "report.html",
        redact,
        title=f"Report, {report.since} to {report.until}",
        report=report,
        turns=turns,
        num_turns=sum(activity.turns for activity in report.turns),
        total=total_of(report.spending),
        cost=stacked(report.periods, _by(report.spending, "model", "cost_usd"), figures.money),
        tokens=stacked(report.periods, _by(report.spending, "purpose", "tokens"), figures.amount),
        tables=[(key, totals_by(report.spending, key)) for key in ("model", "purpose")],
        queues=[_queue(report, queue_waits) for queue_waits in report.waited],
        queue_ticks=ticks(report.periods),
        row=ROW,
        targets=[target for target in _targets(report, limits) if target.entries or target.chars],
        runs=stacked(report.periods, _runs(report), figures.amount),
        schedules=runs_by_schedule(report.schedules),
    )


def _by(rows: Iterable[PeriodSpending], key: SpentKey, what: str) -> Mapping[str, Mapping[str, float]]:
    sums: dict[str, dict[str, float]] = {}
    for row in rows:
        by = sums.setdefault(getattr(row, key) or "unknown", {})
        value = row.cost_usd if what == "cost_usd" else row.usage.total_tokens
        by[row.period] = by.get(row.period, 0.0) + value
    return sums


def _queue(report: Report, waited: QueueWaits) -> Queue:
    own = [queue_waits for queue_waits in report.waiting if queue_waits.queue == waited.queue]
    layers = [
        {queue_waits.period: getattr(queue_waits, name) for queue_waits in own} for name in ("p95", "p50")
    ]
    return Queue(waited=waited, blocks=tuple(bars(report.periods, layers, ROW)))


def _targets(report: Report, limits: Limits) -> Sequence[MemoryFill]:
    fills = []
    for number, name in enumerate(TARGETS, 1):
        own = [usage for usage in report.memory if usage.target == name]
        limit = limits.of(name)
        fills.append(
            MemoryFill(
                name=name,
                entries=own[-1].entries if own else 0,
                chars=own[-1].chars if own else 0,
                limit=limit,
                line=line(number, name, report.periods, {usage.period: usage.chars for usage in own}, limit),
            )
        )
    return fills


def _runs(report: Report) -> Mapping[str, Mapping[str, float]]:
    """The outcomes of due times, by period."""
    runs: dict[str, dict[str, float]] = {"on time": {}, "late": {}, "missed": {}}
    for row in report.schedules:
        for name, count in (("on time", row.on_time), ("late", row.late), ("missed", row.missed)):
            runs[name][row.period] = runs[name].get(row.period, 0.0) + count
    return runs
