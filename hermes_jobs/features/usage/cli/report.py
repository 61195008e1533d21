"""`hermes-jobs report`: cost, waiting times, memory and schedules over time."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hermes_jobs.features.usage.tables.report import select_report
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.moments import format_day, format_time, to_local
from hermes_jobs.interfaces.cli.options import Json, example, exclude, since_option
from hermes_jobs.interfaces.cli.output import note, note_unknown_costs
from hermes_jobs.interfaces.cli.output_file import html_option, write_page
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.table import print_table
from hermes_jobs.text.figures import duration, money, when

if TYPE_CHECKING:
    from hermes_jobs.features.usage.tables.report import Period, Report
    from hermes_jobs.features.usage.tables.totals import SpendingTotal

DAYS = 30  # the default period
BY_DAY, BY_WEEK = 62, 400  # days up to which a period is a day, or a week


@command(epilog=example('hermes-jobs report --since "last month" --html report.html'))
@since_option(f"First day, such as `last month`.  [default: {DAYS} days ago]")
@html_option
def report(context: CliContext, since: datetime | None, html: Path | None, as_json: Json) -> None:
    """Show cost, tokens, queue waits, memory size and schedule runs over time.

    By day, or by week or month for long periods. Only reported usage counts: `usage --estimated` lists calls
    without it.
    """
    exclude({"--html": html, "--json": as_json})
    figures = _report(context, since)
    if html is not None:
        from hermes_jobs.features.usage.pages import report_page

        write_page(html, report_page(figures, context.application.memory_limits, context.redact))
        return
    print_result(lambda: _as_object(figures), lambda: _print(context, figures), as_json=as_json)


def _report(context: CliContext, since: datetime | None) -> Report:
    zone = context.settings.zone
    until = datetime.fromtimestamp(context.application.clock.now(), zone).astimezone(zone)
    # A day's own midnight: the UTC offset may have changed since.
    start = since or to_local(datetime.combine(until.date() - timedelta(days=DAYS - 1), time()))
    if start > until:
        raise click.BadParameter(f"{format_time(start)} has not come yet.", param_hint="--since")
    days = (until - start).days
    period: Period = "day" if days <= BY_DAY else "week" if days <= BY_WEEK else "month"
    return context.application.views.read(select_report, since=start, until=until, period=period, zone=zone)


def _as_object(report: Report) -> dict[str, object]:
    """The report for scripts, with an unknown cost as null."""
    from msgspec.structs import asdict

    from hermes_jobs.kernel.views.turn_json import usage_json

    spending = []
    for row in report.spending:
        fields = asdict(row)
        fields.pop("usage")
        cost = None if row.unpriced == row.requests else fields.pop("cost_usd")
        spending.append({**fields, **asdict(usage_json(row.usage)), "cost_usd": cost})
    whole = {**asdict(report), "spending": spending}
    del whole["unknown_costs"]  # the models are in `spending`
    return whole


def _print(context: CliContext, report: Report) -> None:
    note(f"From {format_day(report.since)} to {format_day(report.until)}, by {report.period}.")
    _print_spending(report)
    _print_waiting(report)
    _print_memory(context, report)
    _print_schedules(report)


def _print_spending(report: Report) -> None:
    from hermes_jobs.features.usage.tables.totals import total_of, totals_by

    if not report.spending:
        note("No model was called in that time.")
        return
    total = total_of(report.spending)
    rows = totals_by(report.spending, "period")
    headers = ("REQUESTS", "INPUT", "CACHED", "OUTPUT", "COST")
    print_table(
        (report.period.upper(), *headers),
        [(_period(row, report.period), *_cells(row)[1:]) for row in rows] + [("all", *_cells(total)[1:])],
        main=report.period.upper(),
        ranks=("REQUESTS", "CACHED"),
        figures=headers,
    )
    for key in ("model", "purpose"):
        click.echo()
        rows_by = [_cells(row) for row in totals_by(report.spending, key)]
        print_table(
            (key.upper(), *headers),
            rows_by,
            main=key.upper(),
            ranks=("REQUESTS", "CACHED"),
            figures=headers,
        )
    note_unknown_costs(report.unknown_costs)


def _print_waiting(report: Report) -> None:
    if not report.waited:
        return
    click.echo()
    rows = [
        (waits.queue, f"{waits.steps:,}", *map(duration, (waits.p50, waits.p95, waits.longest)))
        for waits in report.waited
    ]
    headers = ("QUEUE", "STEPS", "WAITED P50", "P95", "MAX")
    print_table(headers, rows, main="QUEUE", figures=headers[1:])


def _print_memory(context: CliContext, report: Report) -> None:
    from hermes_jobs.features.memory.rules.memory import TARGETS

    rows = []
    for target in TARGETS:
        own = [usage for usage in report.memory if usage.target == target]
        if own:
            limit, last = context.application.memory_limits.of(target), own[-1]
            rows.append((target, str(last.entries), f"{last.chars:,}/{limit:,}", f"{last.chars / limit:.0%}"))
    if rows:
        click.echo()
        headers = ("MEMORY", "ENTRIES", "CHARS", "FILL")
        print_table(headers, rows, main="MEMORY", figures=headers[1:])


def _print_schedules(report: Report) -> None:
    from hermes_jobs.features.usage.tables.totals import runs_by_schedule

    if not report.schedules:
        return
    click.echo()
    rows = [
        (
            runs.name or runs.schedule,
            *(str(count) for count in (runs.on_time, runs.late, runs.missed, runs.failed, runs.by_hand)),
            duration(runs.latest),
        )
        for runs in runs_by_schedule(report.schedules)
    ]
    headers = ("SCHEDULE", "ON TIME", "LATE", "MISSED", "FAILED", "BY HAND", "LATEST")
    print_table(headers, rows, main="SCHEDULE", ranks=("BY HAND", "LATEST"), figures=headers[1:])


def _period(row: SpendingTotal, period: str) -> str:
    """A day, a week by its first day, or a month."""
    return format_day(row.key) if period == "day" else when(row.key, period)


def _cells(row: SpendingTotal) -> tuple[str, ...]:
    used = row.usage
    return (
        row.key,
        f"{row.requests:,}",
        f"{used.prompt_tokens:,}",
        f"{row.cached_share:.0%}",
        f"{used.output_tokens:,}",
        money(row.exact_cost_usd, row.cost_usd),
    )
