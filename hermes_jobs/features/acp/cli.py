"""`hermes-jobs acp`: an editor starts it, and talks to it over standard input and output."""

from __future__ import annotations

import os
import stat

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.logging_setup import log_to_file
from hermes_jobs.interfaces.cli.options import example
from hermes_jobs.interfaces.cli.param_types import TextParam


@command("acp", epilog=example("hermes-jobs acp", "hermes-jobs acp --model gpt-5.5-mini"))
@click.option("-m", "--model", metavar="NAME", type=TextParam(), help="Model of new sessions.")
def acp(context: CliContext, model: str | None) -> None:
    """Serve this agent to an editor by ACP, the Agent Client Protocol, over stdio.

    The editor starts this command, and ends it by closing its input. Turns show their text, their calls and
    the diffs of their edits as they go on; a call that needs approval asks in the editor. If no worker is
    alive, turns run in this process.
    """
    from hermes_jobs.features.acp.agent import serve

    mode = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(0)):
        raise click.UsageError(
            "An editor starts this command, and talks to it through a pipe: see docs/editors.md."
        )
    context.application.check(model)
    log_to_file(context, context.settings.paths.logs)
    serve(context.application, model)
