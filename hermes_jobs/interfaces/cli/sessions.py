"""`hermes-jobs sessions`: conversations, what was said in them, and what they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli import session_search
from hermes_jobs.interfaces.cli.compress import compress_session
from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import example, json_option, limit_option, session_argument
from hermes_jobs.interfaces.cli.output import (
    format_cost,
    format_short_time,
    format_time,
    note,
    print_fields,
    print_heading,
    print_json,
    print_text,
)
from hermes_jobs.interfaces.cli.param_types import IntParam, TextParam
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.text.plural import pluralize
from hermes_jobs.views.models import MessageView, SessionView
from hermes_jobs.views.turn_json import usage_json

if TYPE_CHECKING:
    from collections.abc import Sequence

RESULT_SHOWN = 300  # characters of a tool's result in a conversation


@click.group(epilog=example("hermes-jobs sessions list", 'hermes-jobs sessions show "Trip to Rome"'))
def sessions() -> None:
    """List, show and search sessions; rename, fork or end one.

    ID is that of any session of a lineage, a unique prefix of it, or a title.
    """


sessions.add_command(session_search.search)


@sessions.command("list", epilog=example("hermes-jobs sessions list -n 5"))
@click.option("--all", "everything", is_flag=True, help="Those of reviews and sub-agents too.")
@limit_option("sessions, the last used first")
@json_option
@pass_context
def list_sessions(context: CliContext, everything: bool, limit: int, as_json: bool) -> None:
    """List sessions, the last used first."""
    found = context.application.views.sessions(hidden=everything, limit=limit)
    SESSIONS.print_list(found, as_json=as_json)


@sessions.command("show", epilog=example("hermes-jobs sessions show s3k9 -n 10"))
@session_argument
@limit_option("messages, the newest", default=None)
@json_option
@pass_context
def show_session(context: CliContext, session_id: str, limit: int | None, as_json: bool) -> None:
    """Show a session and its conversation."""
    session = _find(context, session_id)
    said = context.application.views.messages(session.id)
    if limit is not None:
        said = said[-limit:]
    if as_json:
        print_json({**_listed(session), "messages": said})
    else:
        _print_session(session, said)


@sessions.command("rename", epilog=example('hermes-jobs sessions rename s3k9 "Trip to Rome"'))
@session_argument
@click.argument("title", type=TextParam())
@json_option
@pass_context
def rename_session(context: CliContext, session_id: str, title: str, as_json: bool) -> None:
    """Give a session another title."""
    from hermes_jobs.engine.session_titles import rename_session

    application = context.application
    session = _find(context, session_id)
    title = rename_session(application.engine(), session.lineage, title).title or ""
    _print_outcome(context, session.id, f"is called {title!r}", as_json=as_json)


@sessions.command("fork", epilog=example("hermes-jobs sessions fork s3k9 --at 12"))
@session_argument
@click.option(
    "--at",
    type=IntParam(min=1),
    metavar="N",
    help="At event N of its stream (`hermes-jobs events --stream`), not at its end.",
)
@json_option
@pass_context
def fork_session(context: CliContext, session_id: str, at: int | None, as_json: bool) -> None:
    """Begin a new session with the history of another.

    As it was at any event; the other one stays as it is. The new session's id is printed.
    """
    from hermes_jobs.engine.fork import fork

    application = context.application
    parent = _find(context, session_id)
    new = application.ids.name("s")
    fork(application.engine(), parent.lineage, new, at=at)
    if as_json:
        print_json(_listed(application.views.session(new)))
        return
    click.echo(new)
    note(f"Go on in it: hermes-jobs send -s {new} TEXT   (or -c, while it is the newest)")


@sessions.command("export", epilog=example("hermes-jobs sessions export s3k9 > trip.jsonl"))
@session_argument
@click.option("-o", "--output", metavar="FILE", default="-", help="Write to FILE; .gz is compressed.")
@click.option("--force", is_flag=True, help="Put it in the place of a file that is there.")
@pass_context
def export_session(context: CliContext, session_id: str, output: str, force: bool) -> None:
    """Write a session, and those it goes on from, as JSON lines.

    `hermes-jobs import` brings them in elsewhere.
    """
    from hermes_jobs.interfaces.cli.export import STDOUT, exported_lines, write_lines

    found = _find(context, session_id)
    num_lines = write_lines(output, exported_lines(context.application, [found.lineage]), force=force)
    if output != STDOUT:
        note(f"{output}: {pluralize(num_lines, 'line')}.")


@sessions.command("end", epilog=example("hermes-jobs sessions end s3k9"))
@session_argument
@json_option
@pass_context
def end_session(context: CliContext, session_id: str, as_json: bool) -> None:
    """End a session: it takes no more turns.

    Nothing is deleted.
    """
    from hermes_jobs.domain.session.commands import EndSession

    session = _find(context, session_id)
    context.application.engine().execute(session.stream, EndSession())
    _print_outcome(context, session.id, "has ended", as_json=as_json)


sessions.add_command(compress_session)


def _find(context: CliContext, given: str) -> SessionView:
    views = context.application.views
    return views.session(views.find_session(given))


def _print_outcome(context: CliContext, session: str, told: str, *, as_json: bool) -> None:
    """How the session stands after what was asked."""
    views = context.application.views
    SESSIONS.print_outcome(lambda: views.session(session), f"Session {session} {told}.", as_json=as_json)


def _listed(session: SessionView) -> dict[str, object]:
    """The session as scripts see it."""
    from msgspec.structs import asdict

    fields = asdict(session)
    books = session.books
    del fields["id"], fields["books"]
    return {
        "session": session.id,
        **fields,
        "num_model_calls": books.num_model_calls,
        "usage": usage_json(books.usage),
        "cost_usd": books.cost_usd,
    }


def _row(session: SessionView) -> tuple[str, ...]:
    turns, cost = str(session.num_turns), format_cost(session.books.cost_usd)
    return (session.id, session.status, format_short_time(session.last_at), turns, cost, session.label)


SESSIONS = Resource(
    ("SESSION", "STATUS", "LAST USED", "TURNS", "COST", "TITLE"), _row, "No sessions.", _listed
)


def _print_session(session: SessionView, said: Sequence[MessageView]) -> None:
    ended = f" ({session.ended_because})" if session.ended_because else ""
    print_fields(
        [
            ("Session", session.id),
            ("Title", session.title or ""),
            ("Status", session.status + ended),
            ("Kind", session.kind),
            ("Forked from", f"{session.parent} at its event {session.at}" if session.at else ""),
            ("Works for", "" if session.at else session.parent or ""),
            ("Model", session.model),
            ("Started", format_time(session.started_at)),
            ("Last used", format_time(session.last_at)),
            ("Turns", f"{session.num_turns} with {pluralize(session.num_messages, 'message')}"),
            ("Tokens", f"{session.books.usage.prompt_tokens} in, {session.books.usage.output_tokens} out"),
            ("Cost", format_cost(session.books.cost_usd)),
        ]
    )
    for message in said:
        if message.content:
            click.echo()
            print_heading(_speaker(message))
            print_text(_shown(message))


def _speaker(message: MessageView) -> str:
    if message.role != "tool":
        return message.role
    return f"tool {message.name or message.call}: {message.arguments or ''}"[:200]


def _shown(message: MessageView) -> str:
    whole = message.content
    if message.role != "tool" or len(whole) <= RESULT_SHOWN:
        return whole
    return f"{whole[:RESULT_SHOWN]}… ({len(whole)} characters; --json has them all)"
