"""`hermes-jobs sessions summary`: what stands in the place of a session's older part, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import example, json_option, session_argument
from hermes_jobs.interfaces.cli.output import note, print_fields, print_heading, print_text
from hermes_jobs.interfaces.cli.resource import print_result

if TYPE_CHECKING:
    from hermes_jobs.agent.context.layers import Layers


@click.command("summary", epilog=example("hermes-jobs sessions summary last"))
@session_argument
@json_option
@pass_context
def session_summary(context: CliContext, session_id: str, as_json: bool) -> None:
    """Show the summary that stands for a session's older part.

    What the last compression took away is told in detail, what is older line by line; the oldest is archived
    and found by search. Beside that stand open ends, decisions, and the commands and files of the tool calls.
    """
    from hermes_jobs.agent.context.layers import parsed
    from hermes_jobs.agent.context.summary import without_notes

    application = context.application
    views = application.views
    session = views.session(views.find_session(session_id))
    state = application.engine().sessions.load(session.stream)
    text, _ = without_notes(state.messages)
    layers = parsed(text)

    def show() -> None:
        if not text:
            note(f"Session {session.id} has no summary: nothing of it is compressed.")
            return
        print_fields([("Session", session.id), *_sizes(layers, state.num_compressed)])
        _print(layers)

    print_result(lambda: _as_object(session.id, layers, state.num_compressed), show, as_json=as_json)


def _sizes(layers: Layers, compressions: int) -> list[tuple[str, str]]:
    shares = ", ".join(f"{count:,} {layer}" for layer, count in _tokens(layers).items())
    return [("Compressions", f"{compressions}"), ("Tokens", f"about {shares}")]


def _tokens(layers: Layers) -> dict[str, int]:
    from hermes_jobs.agent.context.layers import Layers, rendered
    from hermes_jobs.text.tokens import tokens

    return {
        "recent": tokens(layers.recent),
        "state": tokens(rendered(Layers(state=layers.state))),
        "earlier": tokens(rendered(Layers(earlier=layers.earlier))),
    }


def _print(layers: Layers) -> None:
    from hermes_jobs.agent.context.layers import blocks

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
        "commands": [asdict(each) for each in state.commands],
        "files": [asdict(each) for each in state.files],
        "earlier": [asdict(each) for each in layers.earlier],
        "archived": asdict(archive) if archive is not None else None,
    }
