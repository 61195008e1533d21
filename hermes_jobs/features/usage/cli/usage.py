"""`hermes-jobs usage`: tokens and money, added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import get_args

import click

from hermes_jobs.features.usage.tables.estimates import Estimate, select_estimates
from hermes_jobs.features.usage.tables.usage import (
    Spending,
    SpendingKey,
    select_labels,
    select_spending,
    select_unknown_costs,
)
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.moments import format_day, log_moment
from hermes_jobs.interfaces.cli.options import Json, example, limit_option, newest, since_option
from hermes_jobs.interfaces.cli.output import note, note_unknown_costs
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.table import Column, moment_column
from hermes_jobs.kernel.views.turn_json import usage_json
from hermes_jobs.text.figures import money, pluralize


@command(epilog=example("hermes-jobs usage --by model --since 2026-11-01", "hermes-jobs usage --estimated"))
@click.option(
    "--by",
    type=click.Choice(get_args(SpendingKey)),
    default="day",
    show_default=True,
    help="Group by.",
)
@since_option("Only usage since then: `3 days ago`, 2026-11-01.")
@click.option("--estimated", is_flag=True, help="List the calls whose usage was never reported.")
@limit_option("rows: the newest days or calls, otherwise the most expensive", default=None)
def usage(
    context: CliContext,
    *,
    by: SpendingKey,
    since: datetime | None,
    estimated: bool,
    limit: int | None,
    as_json: Json,
) -> None:
    """Show tokens and cost of all model responses, including failed and discarded ones.

    Calls without a recorded response (killed, cancelled) are estimated and listed apart. --by root adds up a
    turn and all its sub-agents.
    """
    zone = context.settings.zone
    moment = log_moment(since)
    views = context.application.views
    if estimated:
        ESTIMATES.print_list(newest(views.read(select_estimates, since=moment), limit), as_json=as_json)
        return
    spending = views.read(select_spending, by=by, since=moment, zone=zone)
    rows = newest(spending, limit) if by == "day" else spending[:limit]
    labels = {} if as_json else dict(views.read(select_labels, by, [row.key for row in rows]))
    if by == "root" and not as_json:  # titles and reviews belong to no turn
        others = views.read(select_labels, "session", [row.key for row in rows if row.key not in labels])
        labels.update({session: f"(between turns) {title}" for session, title in others.items()})
    _spending(by, rows, labels).print_list(rows, as_json=as_json)
    if not as_json:
        note_unknown_costs(views.read(select_unknown_costs, since=moment or ""))
        _note_unreported(rows)


def _spending(by: SpendingKey, rows: Sequence[Spending], labels: Mapping[str, str]) -> Resource[Spending]:
    """Usage by that key; estimates have a column if there are some, and so have `labels`."""
    columns: list[Column[Spending]] = [
        Column(by.upper(), lambda row: format_day(row.key) if by == "day" else row.key, is_main=not labels),
        Column("REQUESTS", lambda row: f"{row.requests:,}", rank=2, right=True),
        Column("INPUT", lambda row: f"{row.usage.prompt_tokens:,}", right=True),
        Column("CACHED", lambda row: f"{row.cached_share:.0%}", rank=3, right=True),
        Column("OUTPUT", lambda row: f"{row.usage.output_tokens:,}", right=True),
        Column("COST", lambda row: money(row.cost_usd, row.known_cost_usd), right=True),
    ]
    if by == "root":
        columns.insert(1, Column("TURNS", lambda row: f"{row.num_turns:,}", right=True))
    if any(row.estimated.requests for row in rows):
        columns.append(Column("ESTIMATED BESIDES", _estimate, rank=1))
    if labels:
        name = {"session": "TITLE", "schedule": "NAME"}.get(by, "TEXT")
        columns.append(Column(name, lambda row: labels.get(row.key, ""), is_main=True))
    return Resource(columns, "Nothing was used.", lambda row: _as_object(row, by))


def _note_unreported(rows: Sequence[Spending]) -> None:
    """Print the number of unreported calls."""
    calls = sum(row.estimated.requests for row in rows)
    if calls:
        ended = pluralize(calls, "call")
        note(f"{ended} ended without reporting usage: `hermes-jobs usage --estimated` lists them.")


def _as_object(row: Spending, by: SpendingKey) -> dict[str, object]:
    from msgspec.structs import asdict

    return {
        by: row.key,
        **({"turns": row.num_turns} if by == "root" else {}),
        "requests": row.requests,
        **asdict(usage_json(row.usage)),
        "cached_share": round(row.cached_share, 4),
        "cost_usd": row.cost_usd,
        "estimated": row.estimated,
    }


def _estimate(row: Spending) -> str:
    about = row.estimated
    if not about.requests:
        return ""
    return f"{about.input_tokens:,} in, {about.output_tokens:,} out, {money(about.cost_usd)}"


ESTIMATES: Resource[Estimate] = Resource(
    (
        moment_column("WHEN", lambda item: item.at),
        Column("TURN", lambda item: item.turn),
        Column("STEP", lambda item: item.step, rank=4),
        Column("TRY", lambda item: f"{item.attempt}", rank=5, right=True),
        Column("INPUT", lambda item: f"{item.input_tokens:,}", rank=2, right=True),
        Column("OUTPUT", lambda item: f"{item.output_tokens:,}", rank=2, right=True),
        Column("COST", lambda item: money(item.cost_usd), right=True),
        Column("MODEL", lambda item: item.model, rank=1),
        Column("WHY", lambda item: f"{item.reason} ({item.worker})", is_main=True),
    ),
    "Every call reported its usage.",
)
