"""`hermes-jobs sessions export`: a conversation as events for `import`, as Markdown or as an HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.export import STDOUT, force_option, write_lines
from hermes_jobs.interfaces.cli.moments import local_moment
from hermes_jobs.interfaces.cli.options import SessionId, example
from hermes_jobs.interfaces.cli.output import note, one_line
from hermes_jobs.interfaces.cli.turns.progress import call_summary
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.text.fences import in_fence
from hermes_jobs.text.figures import moment, money, pluralize

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.views.models import MessageView, SessionView

FORMATS: Final = ("jsonl", "md", "html")
_BY_ENDING = {".md": "md", ".markdown": "md", ".html": "html", ".htm": "html"}
CALL = 100  # characters of a call's arguments in its heading


@command(
    "export",
    epilog=example(
        "hermes-jobs sessions export last -o trip.md",
        "hermes-jobs sessions export s3k9 --format html > trip.html",
        "hermes-jobs sessions export s3k9 > trip.jsonl",
    ),
)
@click.option(
    "-o", "--output", metavar="FILE", default="-", help="Write to FILE; a name ending in .gz is compressed."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Format.  [default: by the ending of FILE, else jsonl]",
)
@click.option("--tools/--no-tools", default=True, help="md, html: include tool calls, folded.")
@force_option
def export_session(
    context: CliContext, session_id: SessionId, *, output: str, form: str | None, tools: bool, force: bool
) -> None:
    """Write a session to a file or to standard output.

    The sessions that it was forked from and its sub-agents are included.

    `jsonl` is one event per line, for `hermes-jobs import`. `md` and `html` are for reading.
    """
    application = context.application
    session = context.find_session(session_id)
    form = form or form_of(output)
    lines: Iterable[bytes]
    if form == "jsonl":
        from hermes_jobs.client.transfer import exported_lines

        lines = exported_lines(application, [session.lineage])
    else:
        messages = [
            message for message in conversation(application, session) if tools or message.role != "tool"
        ]
        text = (
            _page(context, session, messages)
            if form == "html"
            else context.redact(markdown(session, messages))
        )
        lines = [text.encode("utf-8", "replace")]
    num_lines = write_lines(output, lines, force=force)
    if output != STDOUT:
        note(f"Wrote {output}." if form != "jsonl" else f"{output}: {pluralize(num_lines, 'line')}.")


def form_of(file: str) -> str:
    """The format by the ending of a file's name."""
    ending = PurePath(file.lower().removesuffix(".gz")).suffix
    return _BY_ENDING.get(ending, "jsonl")


def conversation(application: Application, session: SessionView) -> Sequence[MessageView]:
    """The messages of the session; in a fork after the history of its parent up to there."""
    from hermes_jobs.kernel.turns.session import stream_of

    views = application.views
    own = views.messages(session.id)
    if session.parent is None or session.at is None:
        return own
    parent = views.session(session.parent)
    (event,) = application.log.read(stream_of(parent.lineage), after=session.at - 1, upto=session.at)
    before = conversation(application, parent)
    return [*(message for message in before if message.position <= event.position), *own]


def markdown(session: SessionView, messages: Sequence[MessageView]) -> str:
    """The conversation as Markdown, each text under its speaker and time."""
    parts = [f"# {one_line(session.label) or session.id}", about(session)]
    for message in messages:
        text = printable(message.content)
        if not text.strip():
            continue
        if message.role == "tool":
            name = one_line(call_summary(message.name or "tool", message.arguments or "", CALL))
            summary = name.replace("&", "&amp;").replace("<", "&lt;")
            parts.append(
                f"<details>\n<summary><code>{summary}</code></summary>\n\n{in_fence(text)}\n\n</details>"
            )
        else:
            parts.append(f"## {speaker(message)}\n\n{text.strip()}")
    return "\n\n".join(parts) + "\n"


def speaker(message: MessageView) -> str:
    """Speaker and time, for a heading."""
    name = {"user": "You", "assistant": "Assistant"}.get(message.role, message.role)
    return f"{name}, {moment(local_moment(message.at))}"


def about(session: SessionView) -> str:
    """The session in a line."""
    first, last = (
        moment(local_moment(datetime.fromisoformat(at))) for at in (session.started_at, session.last_at)
    )
    until = "" if last == first else f" to {last}"
    cost = money(session.totals.cost_usd, session.totals.known_cost_usd)
    parts = [f"{first}{until}", session.model, pluralize(session.num_turns, "turn"), f"cost {cost}"]
    return f"Session {session.id}: {', '.join(part for part in parts if part)}."


def _page(context: CliContext, session: SessionView, messages: Sequence[MessageView]) -> str:
    from hermes_jobs.interfaces.html.session_page import Utterance, session_page

    utterances = [
        Utterance(
            role=message.role,
            heading=call_summary(message.name or "tool", message.arguments or "", CALL)
            if message.role == "tool"
            else speaker(message),
            text=message.content,
        )
        for message in messages
        if message.content.strip()
    ]
    return session_page(one_line(session.label) or session.id, about(session), utterances, context.redact)
