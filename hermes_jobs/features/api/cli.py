"""`hermes-jobs keys`: the keys with which programs use `hermes-jobs serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, get_args

import click

from hermes_jobs.features.api.events import Scope
from hermes_jobs.interfaces.cli.budgets import check_price, dollars
from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, Name, example, limit_option
from hermes_jobs.interfaces.cli.output import note, print_json
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.table import Column, moment_column
from hermes_jobs.text.figures import money

if TYPE_CHECKING:
    from hermes_jobs.features.api.keys import KeyView


@group(epilog=example("hermes-jobs keys add phone", "hermes-jobs keys revoke phone"))
def keys() -> None:
    """Keys with which programs use `hermes-jobs serve`: `Authorization: Bearer hj-…`."""


@keys.command(
    "add",
    epilog=example(
        "hermes-jobs keys add open-webui --budget 20",
        "hermes-jobs keys add phone --scope read --scope approve",
    ),
)
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(get_args(Scope)),
    multiple=True,
    help="What it may do. Repeatable.  [default: chat]",
)
@click.option("--budget", metavar="USD", help="Most that its turns may spend in a calendar month.")
def add_key(
    context: CliContext, name: Name, scopes: tuple[str, ...], budget: str | None, as_json: Json
) -> None:
    r"""Add a key, and print it once.

    Only its hash is stored: who loses it revokes it, and adds another one.

    \b
    chat     send turns, read and answer its own ones: /v1
    read     read all turns, sessions, schedules, usage: /api, /events, /metrics
    approve  allow and deny tool calls, of its own turns; with `read`, of all
    manage   cancel and retry turns; add, change and run schedules; rename, end and fork sessions
    mcp      use the home as an MCP server: /mcp
    hooks    start triggers: /hooks
    """
    from hermes_jobs.features.api import keys as api

    budget_usd = None if budget is None else dollars(budget)
    check_price(context, None, budget_usd)
    chosen = cast("tuple[Scope, ...]", scopes) or ("chat",)
    text = api.add(context.application, name, chosen, budget_usd)
    if as_json:
        print_json({"key": name, "text": text, "scopes": chosen, "budget_usd": budget_usd})
        return
    click.echo(text)
    note("It is shown this once. Send it as `Authorization: Bearer KEY`, or as OPENAI_API_KEY.")


@keys.command("edit", epilog=example("hermes-jobs keys edit open-webui --budget 50"))
@click.option("--budget", metavar="USD", help="Most that its turns may spend in a calendar month, or `none`.")
def edit_key(context: CliContext, name: Name, budget: str | None, as_json: Json) -> None:
    """Change the budget of a key. It holds for what it sends from now on."""
    from hermes_jobs.features.api import keys as api

    if budget is None:
        raise click.UsageError("Say what to change: --budget USD, or --budget none.")
    budget_usd = None if budget == "none" else dollars(budget)
    check_price(context, None, budget_usd)
    view = api.change_budget(context.application, name, budget_usd)
    if as_json:
        print_json(view)
        return
    said = "has no budget of its own" if budget_usd is None else f"may spend {money(budget_usd)} a month"
    note(f"The key {name} {said}; it has spent {money(view.spent_usd)} in this one.")


@keys.command("list", epilog=example("hermes-jobs keys list"))
@limit_option("keys, in the order in which they were added")
def list_keys(context: CliContext, limit: int, as_json: Json) -> None:
    """List keys, with what each has spent this month."""
    from hermes_jobs.features.api import keys as api

    KEYS.print_list(api.keys(context.application)[:limit], as_json=as_json)


@keys.command("revoke", epilog=example("hermes-jobs keys revoke phone"))
def revoke_key(context: CliContext, name: Name, as_json: Json) -> None:
    """Revoke a key. It is refused at once; turns that it has sent go on."""
    from hermes_jobs.features.api import keys as api

    api.revoke(context.application, name)
    if as_json:
        print_json({"key": name, "revoked": True})
    else:
        note(f"The key {name} is revoked.")


KEYS: Resource[KeyView] = Resource(
    (
        Column("KEY", lambda view: view.key),
        Column("MAY", lambda view: ", ".join(view.scopes), is_main=True),
        Column("SPENT", lambda view: money(view.spent_usd), right=True),
        Column("BUDGET", lambda view: "" if view.budget_usd is None else money(view.budget_usd), right=True),
        moment_column("ADDED", lambda view: view.added_at),
    ),
    "No keys. `hermes-jobs keys add NAME` adds one.",
)
