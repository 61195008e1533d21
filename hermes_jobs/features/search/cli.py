"""`hermes-jobs sessions search`: searches all conversations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import get_args

import click

from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.moments import format_time, log_moment
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import flowed, note, one_line, terminal_width
from hermes_jobs.interfaces.cli.param_types import DateParam, TextParam
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.kernel.engine.ports.conversation_search import Role, Scope, SearchHit
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.text.search.snippet import CLOSE, OPEN


def _roles(_context: click.Context, _parameter: click.Parameter, text: str) -> tuple[Role, ...]:
    """The roles of a comma-separated list."""
    all_roles = get_args(Role)
    names = dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip())
    for name in names:
        if name not in all_roles:
            raise click.BadParameter(f"{name!r} is none of {', '.join(all_roles)}.")
    return tuple(role for role in all_roles if role in names)


@command(
    "search",
    epilog=example(
        "hermes-jobs sessions search docker compose",
        "hermes-jobs sessions search what did we decide about backups",
        "hermes-jobs sessions search '\"connection refused\" OR timeout NOT redis' --role user,assistant",
        "hermes-jobs sessions search 'deploy*' --after 2026-11-01",
    ),
)
@click.argument("words", metavar="QUERY", type=TextParam(), nargs=-1, required=True)
@limit_option("hits")
@click.option(
    "--role",
    "roles",
    default="",
    metavar="LIST",
    callback=_roles,
    help="Only messages of these roles: user, assistant, tool; comma-separated.",
)
@click.option(
    "--after", type=DateParam(), metavar="WHEN", help="Only messages from then on: `3 days ago`, 2026-11-01."
)
@click.option("--before", type=DateParam(), metavar="WHEN", help="Only messages before then.")
@click.option(
    "--source",
    metavar="NAME",
    type=TextParam(),
    help="Only texts from this source and their answers: cli, telegram, …",
)
@click.option("--all", "everything", is_flag=True, help="Include sessions of reviews and sub-agents.")
def search(  # noqa: PLR0913 - the options
    context: CliContext,
    *,
    words: tuple[str, ...],
    limit: int,
    roles: tuple[Role, ...],
    after: datetime | None,
    before: datetime | None,
    source: str | None,
    everything: bool,
    as_json: Json,
) -> None:
    """Search all conversations, best hits first.

    Messages that contain all words come first. If there are none, or too few for a question, messages with
    some of the words follow, rarest words first, and the output says so. Use "quotes" for a phrase, begin*
    for a prefix, and OR, NOT and brackets. Paths, addresses, versions and names such as C++ are found as
    written. Names, arguments and results of tools are searched, too. Hits are grouped by session.
    """
    query = " ".join(words)
    scope = Scope(
        roles=roles,
        after=log_moment(after),
        before=log_moment(before),
        source=source or None,
        hidden=everything,
    )
    views = context.application.views
    hits = Conversations(views).search(query, scope=scope, limit=limit)
    print_result(lambda: [hit_json(hit) for hit in hits], lambda: _print_hits(hits), as_json=as_json)
    if not hits:
        note(_no_results(query, Conversations(views).searched(scope), scope))
    elif any(hit.relaxed for hit in hits):
        from hermes_jobs.text.search.hints import relaxed_hint

        note(relaxed_hint(query, sum(not hit.relaxed for hit in hits)))


def hit_json(hit: SearchHit) -> dict[str, object]:
    """The hit for scripts."""
    result: dict[str, object] = {
        "session": hit.session,
        "title": hit.title,
        "turn": hit.turn,
        "role": hit.role,
        "snippet": hit.snippet,
        "at": hit.at,
    }
    return {**result, "relaxed": True} if hit.relaxed else result


def _print_hits(hits: Sequence[SearchHit]) -> None:
    session = None
    for hit in hits:
        if hit.session != session:
            if session is not None:
                click.echo()
            session = hit.session
            click.secho(f"{session}  {one_line(hit.label)}", bold=True)
        text = f"  {format_time(hit.at)} {hit.role}: {_shown(hit.snippet)}"
        click.echo(flowed(text, terminal_width()))


def _shown(snippet: str) -> str:
    """The snippet; on a terminal its matches are highlighted instead of marked."""
    plain = printable(snippet)
    if not sys.stdout.isatty():
        return plain
    before, *rest = plain.split(OPEN)
    parts = (part.partition(CLOSE) for part in rest)
    return before + "".join(click.style(match, fg="red", bold=True) + after for match, _, after in parts)


def _no_results(query: str, messages: int, scope: Scope) -> str:
    from hermes_jobs.text.search.hints import no_results_hint

    options = (
        ("--role", ",".join(scope.roles)),
        ("--after", format_time(scope.after)),
        ("--before", format_time(scope.before)),
        ("--source", scope.source),
    )
    limits = [f"{name} {value}" for name, value in options if value]
    wider = [f"leave out {name}" for name, value in options if value]
    if not scope.hidden:
        limits.append("reviews and sub-agents left out")
        wider.append("--all")
    return no_results_hint(query, messages, limits, wider)
