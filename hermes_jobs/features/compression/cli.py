"""`hermes-jobs sessions compress` and `summary`: a session's older part, and its summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import (
    Json,
    SessionId,
    Timeout,
    example,
    wait_option,
)
from hermes_jobs.interfaces.cli.output import note, print_fields, print_heading, print_text
from hermes_jobs.interfaces.cli.param_types import TextParam
from hermes_jobs.interfaces.cli.resource import print_result

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.compression.layers import Layers
    from hermes_jobs.kernel.events import CompressionFailed, ContextCompressed


@command("summary", epilog=example("hermes-jobs sessions summary last"))
def session_summary(context: CliContext, session_id: SessionId, as_json: Json) -> None:
    """Show the summary that replaces a session's older part.

    The newest part is summarised in detail, older parts one fact per line; the oldest are archived and found
    by search. The summary also lists open questions, decisions, and the commands and files of the tool calls.
    """
    from hermes_jobs.features.compression.layers import parse
    from hermes_jobs.features.compression.summary import without_notes

    application = context.application
    session = context.find_session(session_id)
    state = application.engine().sessions.load(session.stream)
    text, _ = without_notes(state.messages)
    layers = parse(text)

    def show() -> None:
        if not text:
            note(f"Session {session.id} has no summary: it was not compressed.")
            return
        print_fields([("Session", session.id), *_sizes(layers, state.num_compressed)])
        _print(layers)

    print_result(lambda: _as_object(session.id, layers, state.num_compressed), show, as_json=as_json)


def _sizes(layers: Layers, compressions: int) -> list[tuple[str, str]]:
    shares = ", ".join(f"{count:,} {layer}" for layer, count in _tokens(layers).items())
    return [("Compressions", f"{compressions}"), ("Tokens", f"about {shares}")]


def _tokens(layers: Layers) -> dict[str, int]:
    from hermes_jobs.features.compression.layers import Layers, render
    from hermes_jobs.text.tokens import tokens

    return {
        "recent": tokens(layers.recent),
        "state": tokens(render(Layers(state=layers.state))),
        "earlier": tokens(render(Layers(earlier=layers.earlier))),
    }


def _print(layers: Layers) -> None:
    from hermes_jobs.features.compression.layers import blocks

    for block in blocks(layers):
        heading, _, text = ("Recent", "", block) if block == layers.recent else block.partition("\n")
        click.echo()
        print_heading(heading.removeprefix("# "))
        print_text(text)


def _as_object(session: str, layers: Layers, compressions: int) -> dict[str, object]:
    from msgspec.structs import asdict

    state, archive = layers.state, layers.archive
    return {
        "session": session,
        "compressions": compressions,
        "tokens": _tokens(layers),
        "recent": layers.recent,
        "open_ends": state.open_ends,
        "decisions": state.decisions,
        "commands": [asdict(command) for command in state.commands],
        "files": [asdict(file) for file in state.files],
        "earlier": [asdict(episode) for episode in layers.earlier],
        "archived": asdict(archive) if archive is not None else None,
    }


@command("compress", epilog=example('hermes-jobs sessions compress s3k9 --focus "the trip to Rome"'))
@click.option(
    "--focus", metavar="T", type=TextParam(), default="", help="Topic that the summary should keep above all."
)
@wait_option()
def compress_session(
    context: CliContext, session_id: SessionId, focus: str, wait: bool, timeout: Timeout, as_json: Json
) -> int:
    """Replace the older part of a session's history by a summary.

    Every message stays in the log, and `sessions search` finds it. The session continues under a new id; the
    old id still works.
    """
    from hermes_jobs.client.waiting import run_or_wait
    from hermes_jobs.interfaces.cli.exit_codes import FAILED, TIMED_OUT
    from hermes_jobs.interfaces.cli.logging_setup import log_to_file
    from hermes_jobs.kernel.events import ContextCompressed
    from hermes_jobs.kernel.turns.commands import RequestCompression

    def without_summary(reason: str, code: int) -> int:
        note(reason)
        result = {"session": session.lineage, "into": None, "message": reason}
        print_result(lambda: result, lambda: None, as_json=as_json)
        return code

    application = context.application
    session = context.find_session(session_id)
    before = application.log.last_position()
    command = RequestCompression(reason="manual", focus=focus.strip())
    application.engine().execute(session.stream, command)
    if not wait:
        return without_summary(f"Session {session.id} will be compressed when a worker is available.", 0)
    if not run_or_wait(
        application,
        session.stream,
        lambda now: now.compression is None,
        timeout,
        begins_here=lambda: log_to_file(context, application.settings.paths.logs),
    ):
        return without_summary(f"Timed out; session {session.id} will be compressed.", TIMED_OUT)
    outcome = _outcome(application, session.stream, before)
    if not isinstance(outcome, ContextCompressed):
        reason = outcome.message if outcome is not None else "it was cancelled"
        return without_summary(f"Session {session.id} was not compressed: {reason}.", FAILED)
    print_result(
        lambda: _outcome_json(session.lineage, outcome), lambda: _print_outcome(outcome), as_json=as_json
    )
    return 0


def _outcome(
    application: Application, stream: str, before: int
) -> ContextCompressed | CompressionFailed | None:
    """How the stream's newest compression after that position ended."""
    from hermes_jobs.kernel.events import CompressionFailed, ContextCompressed

    news = [event.event for event in application.log.tail(before, stream=stream)]
    ends = [event for event in news if isinstance(event, ContextCompressed | CompressionFailed)]
    return ends[-1] if ends else None


def _outcome_json(lineage: str, outcome: ContextCompressed) -> dict[str, str | int]:
    return {
        "session": lineage,
        "into": outcome.into,
        "removed": outcome.removed,
        "tokens_before": outcome.tokens_before,
        "tokens_after": outcome.tokens_after,
        "number": outcome.number,
        "summary": outcome.summary,
    }


def _print_outcome(outcome: ContextCompressed) -> None:
    from hermes_jobs.kernel.turns.context_notices import notices

    for line in notices(outcome):
        note(f"{line[0].upper()}{line[1:]}.")
    note(f"The session continues as {outcome.into}; its summary: hermes-jobs sessions summary {outcome.into}")
