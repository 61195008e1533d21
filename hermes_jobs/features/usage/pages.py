"""A report as a page: tables of cost, waiting times, memory and schedules."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from hermes_jobs.features.memory.rules.memory import TARGETS, Limits
from hermes_jobs.features.usage.tables.report import Report
from hermes_jobs.features.usage.tables.totals import runs_by_schedule, total_of, totals_by
from hermes_jobs.interfaces.html.render import Redact, render


class MemoryFill(msgspec.Struct, frozen=True, kw_only=True):
    """A target of the memory: its final fill level. `share` is of its limit."""

    name: str
    entries: int
    chars: int
    limit: int

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
        periods=totals_by(report.spending, "period"),
        tables=[(key, totals_by(report.spending, key)) for key in ("model", "purpose")],
        targets=list(_targets(report, limits)),
        schedules=runs_by_schedule(report.schedules),
    )


def _targets(report: Report, limits: Limits) -> Iterator[MemoryFill]:
    for name in TARGETS:
        own = [usage for usage in report.memory if usage.target == name]
        if own and (own[-1].entries or own[-1].chars):
            yield MemoryFill(name=name, entries=own[-1].entries, chars=own[-1].chars, limit=limits.of(name))
