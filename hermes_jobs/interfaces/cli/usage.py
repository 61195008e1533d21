"""`hermes-jobs usage`: tokens and money, added up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, get_args

import click

from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import example, json_option, limit_option, newest
from hermes_jobs.interfaces.cli.output import format_cost, format_short_time, note, print_json, print_table
from hermes_jobs.interfaces.cli.param_types import DateParam
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.text.plural import pluralize
from hermes_jobs.views.spending import Spending, SpendingKey
from hermes_jobs.views.turn_json import usage_json

if TYPE_CHECKING:
    from hermes_jobs.views.estimates import Estimate


@click.command(
    epilog=example("hermes-jobs usage --by model --since 2026-11-01", "hermes-jobs usage --estimated")
)
@click.option(
    "--by",
    type=click.Choice(get_args(SpendingKey)),
    default="day",
    show_default=True,
    help="What to add up by.",
)
@click.option("--since", type=DateParam(), metavar="DATE", help="Only what was used since then, local time.")
@click.option("--estimated", is_flag=True, help="List the calls whose usage was never reported.")
@limit_option("rows: the newest days or calls, else the dearest", default=None)
@json_option
@pass_context
def usage(
    context: CliContext,
    *,
    by: SpendingKey,
    since: datetime | None,
    estimated: bool,
    limit: int | None,
    as_json: bool,
) -> None:
    """Show what was used and what it cost; every response counts, also failed and discarded ones.

    Calls that ended without their response (killed, cancelled) are estimated, and stand apart.
    """
    zone = context.settings.zone
    moment = since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if since else None
    views = context.application.views
    if estimated:
        ESTIMATES.print_list(newest(views.estimates(since=moment), limit), as_json=as_json)
        return
    found = views.spending(by=by, since=moment, zone=zone)
    rows = newest(found, limit) if by == "day" else found[:limit]
    if as_json:
        print_json([_as_object(row, by) for row in rows])
    elif rows:
        _print_spending(rows, by)
    else:
        note("Nothing was used.")


def _print_spending(rows: Sequence[Spending], by: SpendingKey) -> None:
    headers = (by.upper(), "REQUESTS", "INPUT", "CACHED", "OUTPUT", "COST")
    calls = sum(row.estimated.requests for row in rows)
    print_table(
        (*headers, *("ESTIMATED BESIDES",) * bool(calls)),
        [(*_cells(row), *(_estimate(row),) * bool(calls)) for row in rows],
    )
    if any(row.unpriced for row in rows):
        note("Some responses came from models whose price is not known; their cost is not guessed.")
    if calls:
        ended = pluralize(calls, "call")
        note(f"{ended} ended without a report of what was used: `hermes-jobs usage --estimated` lists them.")


def _as_object(row: Spending, by: SpendingKey) -> dict[str, object]:
    from msgspec.structs import asdict

    return {
        by: row.key,
        "requests": row.requests,
        **asdict(usage_json(row.usage)),
        "cached_share": round(row.cached_share, 4),
        "cost_usd": row.cost_usd,
        "estimated": row.estimated,
    }


def _cells(row: Spending) -> tuple[str, ...]:
    used = row.usage
    return (
        row.key,
        f"{row.requests}",
        f"{used.prompt_tokens:,}",
        f"{row.cached_share:.0%}",
        f"{used.output_tokens:,}",
        format_cost(row.cost_usd),
    )


def _estimate(row: Spending) -> str:
    about = row.estimated
    if not about.requests:
        return ""
    return f"{about.input_tokens:,} in, {about.output_tokens:,} out, {format_cost(about.cost_usd)}"


def _estimate_cells(each: Estimate) -> tuple[str, ...]:
    return (
        format_short_time(each.at),
        each.turn,
        each.step,
        f"{each.attempt}",
        f"{each.input_tokens:,}",
        f"{each.output_tokens:,}",
        format_cost(each.cost_usd),
        each.model,
        f"{each.reason} ({each.worker})",
    )


ESTIMATES = Resource(
    ("WHEN", "TURN", "STEP", "TRY", "INPUT", "OUTPUT", "COST", "MODEL", "WHY"),
    _estimate_cells,
    "What every call used was reported.",
)
