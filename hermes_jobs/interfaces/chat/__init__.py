"""`hermes-jobs chat`: a conversation on a terminal. Its modules are imported when the command is called."""

from __future__ import annotations

import sys

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import (
    SessionChoice,
    environment_option,
    example,
    model_option,
    session_choice_options,
)
from hermes_jobs.interfaces.cli.param_types import NonEmpty, TextParam
from hermes_jobs.interfaces.cli.permission_options import mode_option
from hermes_jobs.kernel.events import Mode


@command(epilog=example("hermes-jobs chat", 'hermes-jobs chat -s "Trip to Rome"'))
@session_choice_options
@model_option("Model of a new session; in an existing one, from now on.")
@click.option("--system", metavar="TEXT", type=TextParam(), help="Additional system prompt of a new session.")
@click.option("--toolsets", metavar="A,B", help="Toolsets of a new session.")
@environment_option
@mode_option("Permission mode from now on.")
def chat(
    context: CliContext,
    choice: SessionChoice,
    model: str | None,
    system: str | None,
    toolsets: str | None,
    environment: tuple[str, ...],
    mode: Mode | None,
) -> int:
    """Open a chat with the agent: streamed answers, tools as they run.

    Enter sends, Esc Enter starts a new line, Tab completes, / starts a command (/help lists them). Shift-Tab
    switches the permission mode. Ctrl-C cancels the running turn, Ctrl-D exits. If no worker is alive, turns
    run in this process.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError('chat needs a terminal. For scripts and pipes: hermes-jobs send -c "…"')
    from hermes_jobs.interfaces.chat.app import run
    from hermes_jobs.interfaces.chat.conversation import ChatStart
    from hermes_jobs.interfaces.cli.turns.options import (
        resolve_model,
        resolve_session,
        resolve_toolsets,
        resolve_variables,
        working_folder,
    )

    session = resolve_session(context, choice)
    lineage = session.lineage if session else None
    if session is not None and (system or toolsets):
        raise click.UsageError("--system and --toolsets are for a new session.")
    start = ChatStart(
        lineage=lineage,
        workdir=choice.workdir or working_folder(),
        model=resolve_model(context, model, lineage),
        system=system,
        toolsets=resolve_toolsets(context, toolsets),
        mode=mode,
        variables=resolve_variables(context, environment),
    )
    return run(context, start)
