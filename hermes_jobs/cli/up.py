"""`hermes-jobs up` and `down`: everything on this machine, and its end."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

from hermes_jobs.cli.invocation import Invocation, pass_invocation
from hermes_jobs.cli.options import example
from hermes_jobs.cli.output import note
from hermes_jobs.cli.values import Whole


@click.command(epilog=example("hermes-jobs up", "hermes-jobs up -d --concurrency 8"))
@click.option("-d", "--detach", is_flag=True, help="In the background; `hermes-jobs down` stops it.")
@click.option("--concurrency", type=Whole(min=1), metavar="N", help="Threads of the worker.")
@click.option(
    "--flower-port",
    type=Whole(1, 65_535),
    metavar="P",
    help="Flower's port.  [default: 5555, or the next that is free]",
)
@click.option("--no-flower", is_flag=True, help="Without Flower.")
@click.option("--no-beat", is_flag=True, help="Without beat, which wakes due schedules.")
@pass_invocation
def up(
    invocation: Invocation,
    detach: bool,
    concurrency: int | None,
    flower_port: int | None,
    no_flower: bool,
    no_beat: bool,
) -> None:
    """Run everything that this machine needs: a broker if none is configured, a worker, beat, Flower.

    Ctrl-C stops it warmly: what is being written may end first (workers.stop_seconds). A second Ctrl-C stops
    it at once; nothing is lost either way.
    """
    if no_flower and flower_port is not None:
        raise click.UsageError("--flower-port and --no-flower exclude each other.")
    if TYPE_CHECKING:
        from workers import background
        from workers import up as supervisor
    else:
        supervisor, background = import_module("workers.up"), import_module("workers.background")
    options = supervisor.Options(
        concurrency=concurrency, beat=not no_beat, flower=not no_flower, flower_port=flower_port
    )
    installation = invocation.installation
    installation.check()
    if not detach:
        supervisor.Supervisor(installation, options, invocation.environ, note).run()
        return
    note("Starting…")
    state = background.start_in_background(
        installation.settings.paths, supervisor.arguments(options), invocation.environ
    )
    flower = f" Flower: {state.flower}" if state.flower else ""
    note(f"hermes-jobs is up (process {state.pid}).{flower}")
    note("`hermes-jobs down` stops it; `hermes-jobs queues` shows what it does.")


@click.command(epilog=example("hermes-jobs down"))
@pass_invocation
def down(invocation: Invocation) -> None:
    """Stop the `up` of this home, warmly, and wait until it has ended."""
    if TYPE_CHECKING:
        from workers import background
    else:
        background = import_module("workers.background")
    stopped = background.stop(invocation.settings)
    note("Nothing was up." if stopped is None else f"hermes-jobs is down (process {stopped}).")
