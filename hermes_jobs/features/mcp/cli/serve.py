"""`hermes-jobs mcp serve`: other agents use this one, by MCP over stdio."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.logging_setup import log_to_file
from hermes_jobs.interfaces.cli.options import example
from hermes_jobs.interfaces.cli.param_types import FolderParam
from hermes_jobs.interfaces.cli.permission_options import mode_option
from hermes_jobs.interfaces.cli.turns.options import working_folder

if TYPE_CHECKING:
    from hermes_jobs.kernel.events import Mode

ALLOWED = ("send", "schedules", "approve")


def _allowed(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> frozenset[str]:
    """The names of comma-separated lists."""
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    for name in names:
        if name not in ALLOWED:
            raise click.BadParameter(f"{name!r} is none of {', '.join(ALLOWED)}.")
    if "approve" in names and "send" not in names:
        raise click.BadParameter("approve is about turns that clients send: --allow send,approve.")
    return frozenset(names)


@command(
    "serve",
    epilog=example(
        "hermes-jobs mcp serve", "hermes-jobs mcp serve --allow send,approve --workdir ~/notes --mode plan"
    ),
)
@click.option(
    "--allow",
    "allowed",
    metavar="A,B",
    multiple=True,
    callback=_allowed,
    help="Allow more than reading: send, schedules, approve. Repeatable.",
)
@click.option(
    "--workdir",
    type=FolderParam(),
    metavar="DIR",
    help="Working folder of new sessions.  [default: this one]",
)
@mode_option("Permission mode of sessions that clients start.")
def serve_mcp(context: CliContext, allowed: frozenset[str], workdir: str | None, mode: Mode | None) -> None:
    """Serve this agent to other agents by MCP, over stdio.

    It is an MCP server on standard input and output, until the input ends. Clients can read turns, search
    conversations, and read memory and schedules. --allow send lets them send and cancel texts; if no worker
    is alive, turns run in this process. --allow schedules lets them add and change schedules. --allow approve
    lets a client ask its user about calls that wait for approval.
    """
    from hermes_jobs.features.mcp.serve.requests import NewSession
    from hermes_jobs.features.mcp.serve.server import serve

    folder = workdir or working_folder()
    if "send" in allowed:
        context.application.check()
    log_to_file(context, context.settings.paths.logs)
    serve(context, allowed, NewSession(folder, mode))
