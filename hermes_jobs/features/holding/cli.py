"""`hermes-jobs held`: what the agent wants to remember after it has read what others wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import print_heading, print_text
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.table import Column, moment_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_jobs.features.holding.api import HeldView


@group(epilog=example("hermes-jobs held list", "hermes-jobs held keep 3f0c9d2ab81e"))
def held() -> None:
    """What the agent wants to remember after it has read what others wrote: keep or drop it.

    In turns that nobody watches, and in reviews, it cannot change memory, skills and schedules by itself once
    it has read a page, a server's result or the like, except for memories that you said in your own words. ID
    may be a unique prefix. After 30 days it is no longer offered.
    """


@held.command("list", epilog=example("hermes-jobs held list --all"))
@click.option("--all", "everything", is_flag=True, help="Include what was kept, dropped, or has expired.")
@limit_option("held calls, newest first")
def list_held(context: CliContext, everything: bool, limit: int, as_json: Json) -> None:
    """List what waits for you, newest first."""
    from hermes_jobs.features.holding import api

    found = api.held(context.application, everything=everything)[:limit]
    (ALL if everything else HELD).print_list(found, as_json=as_json)


@held.command("show", epilog=example("hermes-jobs held show 3f0c9d2ab81e"))
@click.argument("held_id", type=NonEmpty(), metavar="ID")
@limit_option("lines of the text", default=None)
def show_held(context: CliContext, held_id: str, limit: int | None, as_json: Json) -> None:
    """Show what would be saved, and what had been read."""
    from hermes_jobs.features.holding import api, words

    found = api.one_held(context.application, held_id)

    def print_whole() -> None:
        click.echo()
        print_text("\n".join(words.whole(found).splitlines()[:limit]))
        for entry in words.replaced(context.application, found) if found.status == "waiting" else ():
            click.echo()
            print_heading("The entry that goes")
            print_text(entry)

    HELD.print_one(found, as_json=as_json, details=print_whole)


@held.command("keep", epilog=example("hermes-jobs held keep 3f0c9d2ab81e"))
@click.argument("held_id", type=NonEmpty(), metavar="ID")
def keep_held(context: CliContext, held_id: str, as_json: Json) -> None:
    """Save it, exactly as the agent wanted to."""
    from hermes_jobs.features.holding import api

    kept = api.keep(context.application, held_id)
    HELD.print_outcome(lambda: kept, f"Kept: {_about(kept)}", as_json=as_json)


@held.command("drop", epilog=example("hermes-jobs held drop 3f0c9d2ab81e"))
@click.argument("held_id", type=NonEmpty(), metavar="ID")
def drop_held(context: CliContext, held_id: str, as_json: Json) -> None:
    """Save nothing, also when the agent wants the same again."""
    from hermes_jobs.features.holding import api

    dropped = api.drop(context.application, held_id)
    HELD.print_outcome(lambda: dropped, f"Dropped: {_about(dropped)}", as_json=as_json)


def _about(view: HeldView) -> str:
    from hermes_jobs.features.holding.words import about

    return about(view)


def _fields(view: HeldView) -> Sequence[tuple[str, str]]:
    return [
        ("Held", view.held),
        ("Status", view.status + (f" by {view.by}" if view.by else "")),
        ("Tool", view.tool),
        ("When", format_time(view.at)),
        ("Expires", format_time(view.expires_at) if view.status == "waiting" else ""),
        ("Turn", view.turn),
        ("Session", view.session),
        ("It had read", ", ".join(view.outside)),
    ]


STATUS: Column[HeldView] = Column("STATUS", lambda view: view.status, rank=2)
"""Says something beside those that do not wait only."""


def _columns(status: Column[HeldView]) -> Sequence[Column[HeldView]]:
    return (
        Column("HELD", lambda view: view.held),
        status,
        moment_column("WHEN", lambda view: view.at, rank=1),
        Column("AFTER READING", lambda view: ", ".join(view.outside)),
        Column("WHAT", _about, is_main=True),
    )


HELD: Resource[HeldView] = Resource(_columns(STATUS), "Nothing waits for you.", fields=_fields, by_day=True)
ALL = HELD._replace(columns=_columns(STATUS._replace(rank=0)), empty="Nothing was held.")
