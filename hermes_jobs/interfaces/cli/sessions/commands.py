"""`hermes-jobs sessions`: conversations, their messages and titles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.features.compression.cli import compress_session, session_summary
from hermes_jobs.features.consolidation.cli import consolidate_session
from hermes_jobs.features.forgetting.cli import delete_session
from hermes_jobs.features.search import cli as session_search
from hermes_jobs.features.usage.tables.usage import select_unknown_costs
from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.id_completion import complete_turn
from hermes_jobs.interfaces.cli.moments import format_time, log_moment
from hermes_jobs.interfaces.cli.options import (
    Json,
    SessionId,
    example,
    limit_option,
    since_option,
)
from hermes_jobs.interfaces.cli.output import note, print_heading, print_text, short_path
from hermes_jobs.interfaces.cli.param_types import NonEmpty, TextParam
from hermes_jobs.interfaces.cli.resource import Resource, print_result
from hermes_jobs.interfaces.cli.sessions.export import export_session
from hermes_jobs.interfaces.cli.table import Column, moment_column
from hermes_jobs.kernel.views.models import MessageView, SessionView
from hermes_jobs.kernel.views.session_json import session_json, shown_session_json
from hermes_jobs.text.figures import money, pluralize, unknown_costs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


FOLDER_SHOWN = 18  # columns of a folder in a list
RESULT_SHOWN = 300  # characters of a tool's result in a conversation


@group(epilog=example("hermes-jobs sessions list", 'hermes-jobs sessions show "Trip to Rome"'))
def sessions() -> None:
    """List, show and search sessions; rename, fork, end or delete one.

    ID is the id of any session of a lineage, a unique prefix of one, or a title. `last` is the session used
    last, `last~1` the one before it.
    """


sessions.add_command(session_search.search)


@sessions.command("list", epilog=example("hermes-jobs sessions list -n 5"))
@click.option(
    "--all", "everything", is_flag=True, help="Include sessions of reviews and sub-agents, and undone ones."
)
@since_option("Only sessions used since then: `monday`, 2026-11-01.")
@limit_option("sessions, the last used first")
def list_sessions(
    context: CliContext, everything: bool, since: datetime | None, limit: int, as_json: Json
) -> None:
    """List sessions, the last used first."""
    views = context.application.views
    chosen_sessions = views.sessions(since=log_moment(since), hidden=everything, limit=limit)
    resource = SESSIONS._replace(columns=(*SESSIONS.columns[:2], *HIDDEN_COLUMNS, *SESSIONS.columns[2:]))
    (resource if everything else SESSIONS).print_list(chosen_sessions, as_json=as_json)


@sessions.command("show", epilog=example("hermes-jobs sessions show s3k9 -n 10"))
@limit_option("messages, the newest", default=None)
def show_session(context: CliContext, session_id: SessionId, limit: int | None, as_json: Json) -> None:
    """Show a session and its conversation."""
    session = context.find_session(session_id)
    messages = context.application.views.messages(session.id)
    if limit is not None:
        messages = messages[-limit:]
    unknown = context.application.views.read(select_unknown_costs, lineage=session.lineage)
    SESSIONS._replace(
        to_json=lambda item: shown_session_json(item, messages),
        fields=lambda item: [*_fields(item), ("Not in it", unknown_costs(unknown))],
    ).print_one(session, as_json=as_json, details=lambda: _print_messages(messages))


@sessions.command("rename", epilog=example('hermes-jobs sessions rename s3k9 "Trip to Rome"'))
@click.argument("title", type=TextParam())
def rename_session(context: CliContext, session_id: SessionId, title: str, as_json: Json) -> None:
    """Change a session's title."""
    from hermes_jobs.client.sessions import Sessions

    session = Sessions(context.application).rename(session_id, title)
    _print_outcome(context, session.session, f"is called {session.title!r}", as_json=as_json)


@sessions.command(
    "fork",
    epilog=example(
        "hermes-jobs sessions fork s3k9 --before last", "hermes-jobs sessions fork s3k9 --at t3k9"
    ),
)
@click.option(
    "--at",
    metavar="TURN|N",
    type=NonEmpty(),
    shell_complete=complete_turn,
    help="Copy up to and including this turn, or up to event N of its stream (`log events --stream`).",
)
@click.option(
    "--before",
    metavar="TURN",
    type=NonEmpty(),
    shell_complete=complete_turn,
    help="Copy everything before this turn.",
)
def fork_session(
    context: CliContext, session_id: SessionId, at: str | None, before: str | None, as_json: Json
) -> None:
    """Start a new session with the history of another one.

    The history is copied whole, or up to a turn; the original does not change. `last` is the last turn of
    that session. The new session's id is printed.
    """
    from hermes_jobs.client.sessions import Sessions

    new = Sessions(context.application).fork(session_id, at=at, before=before).session

    def print_text() -> None:
        click.echo(new)
        note(f"Go on in it: hermes-jobs send -s {new} TEXT   (or -c in its folder, while it is the newest)")

    print_result(lambda: session_json(context.application.views.session(new)), print_text, as_json=as_json)


sessions.add_command(export_session)


@sessions.command("end", epilog=example("hermes-jobs sessions end s3k9"))
def end_session(context: CliContext, session_id: SessionId, as_json: Json) -> None:
    """End a session: it takes no more turns.

    Nothing is deleted.
    """
    from hermes_jobs.client.sessions import Sessions

    session = Sessions(context.application).end(session_id)
    _print_outcome(context, session.session, "has ended", as_json=as_json)


sessions.add_command(compress_session)
sessions.add_command(consolidate_session)
sessions.add_command(session_summary)
sessions.add_command(delete_session)


def _print_outcome(context: CliContext, session: str, text: str, *, as_json: bool) -> None:
    """Print the session after the change."""
    views = context.application.views
    SESSIONS.print_outcome(lambda: views.session(session), f"Session {session} {text}.", as_json=as_json)


def _folder(session: SessionView) -> str:
    return short_path(session.workdir, FOLDER_SHOWN) if session.workdir else "-"


def _fields(session: SessionView) -> Sequence[tuple[str, str]]:
    ended = f" ({session.ended_because})" if session.ended_because else ""
    used = session.totals.usage
    return [
        ("Session", session.id),
        ("Title", session.title or ""),
        ("Status", session.status_word + ended),
        ("Undone into", session.undone_into or ""),
        ("Kind", session.kind),
        ("Forked from", f"{session.parent} at its event {session.at}" if session.at else ""),
        ("Continues", session.parent or "" if _is_continuation(session) else ""),
        ("Works for", _works_for(session)),
        ("Task", session.place.goal if session.place else ""),
        ("Folder", short_path(session.workdir) if session.workdir else ""),
        ("Model", session.model),
        ("Started", format_time(session.started_at)),
        ("Last used", format_time(session.last_at)),
        ("Turns", f"{session.num_turns} with {pluralize(session.num_messages, 'message')}"),
        ("Tokens", f"{used.prompt_tokens:,} in, {used.output_tokens:,} out"),
        ("Cost", money(session.totals.cost_usd, session.totals.known_cost_usd)),
    ]


def _is_continuation(session: SessionView) -> bool:
    """Whether its parent is the session before a compression."""
    return session.id != session.lineage and session.place is None and session.at is None


def _employer(session: SessionView) -> str:
    """The session that it works for."""
    return "" if session.at or _is_continuation(session) else session.parent or ""


def _works_for(session: SessionView) -> str:
    """The session that it works for; of a sub-agent also the root session, and its kind."""
    place = session.place
    if place is None:
        return _employer(session)
    root = "" if place.root == place.parent else f", below {place.root}"
    return f"{place.parent}{root}{f', as {place.role}' if place.role else ''}"


HIDDEN_COLUMNS: Sequence[Column[SessionView]] = (
    Column("KIND", lambda session: session.kind),
    Column("WORKS FOR", _employer, rank=4),
)
"""Further columns of a list that has more than conversations."""

SESSIONS: Resource[SessionView] = Resource(
    (
        Column("SESSION", lambda session: session.id),
        Column("STATUS", lambda session: session.status_word),
        moment_column("LAST USED", lambda session: session.last_at),
        Column("TURNS", lambda session: str(session.num_turns), rank=2, right=True),
        Column(
            "COST",
            lambda session: money(session.totals.cost_usd, session.totals.known_cost_usd),
            rank=3,
            right=True,
        ),
        Column("FOLDER", _folder, rank=1),
        Column("TITLE", lambda session: session.label, is_main=True),
    ),
    "No sessions.",
    session_json,
    _fields,
    by_day=True,
)


def _print_messages(messages: Sequence[MessageView]) -> None:
    for message in messages:
        if message.content:
            click.echo()
            print_heading(_speaker(message))
            print_text(_shown(message))


def _speaker(message: MessageView) -> str:
    if message.role != "tool":
        return message.role
    if message.call is None:
        return "described"  # a picture, before the turn began
    return f"tool {message.name or message.call}: {message.arguments or ''}"[:200]


def _shown(message: MessageView) -> str:
    content = message.content
    if message.role != "tool" or len(content) <= RESULT_SHOWN:
        return content
    return f"{content[:RESULT_SHOWN]}… ({len(content)} characters; --json has them all)"
