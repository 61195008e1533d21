"""The commands that start processes: `up`, `down`, `worker`, `beat` and `flower`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.logging_setup import log_to_stderr
from hermes_jobs.interfaces.cli.options import example
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import IntParam
from hermes_jobs.runtime.broker_address import require_broker
from hermes_jobs.runtime.queues import ALL_QUEUES
from hermes_jobs.system.guarded_process import end_with_guard

if TYPE_CHECKING:
    from hermes_jobs.settings.home import Paths


@command(epilog=example("hermes-jobs up", "hermes-jobs up -d --concurrency 8"))
@click.option("-d", "--detach", is_flag=True, help="Run in the background; `hermes-jobs down` stops it.")
@click.option("--concurrency", type=IntParam(min=1), metavar="N", help="Steps that the worker runs at once.")
@click.option(
    "--flower-port",
    type=IntParam(1, 65_535),
    metavar="P",
    help="Flower's port.  [default: 5555, or the next free one]",
)
@click.option("--no-flower", is_flag=True, help="Do not start Flower.")
@click.option(
    "--no-beat", is_flag=True, help="Do not start the scheduler (Celery beat), which wakes due schedules."
)
def up(
    context: CliContext,
    detach: bool,
    concurrency: int | None,
    flower_port: int | None,
    no_flower: bool,
    no_beat: bool,
) -> None:
    """Run everything for this machine: a broker if none is configured, a worker, the scheduler and Flower.

    Ctrl-C stops it gracefully: running writes may finish first (workers.stop_seconds). A second Ctrl-C stops
    it at once. Nothing is lost either way.
    """
    if no_flower and flower_port is not None:
        raise click.UsageError("--flower-port and --no-flower exclude each other.")
    from workers import daemon
    from workers import up as supervisor

    options = supervisor.Options(
        concurrency=concurrency, beat=not no_beat, flower=not no_flower, flower_port=flower_port
    )
    application = context.application
    application.check()
    if not detach:
        supervisor.Supervisor(application, options, context.environ, note).run()
        return
    note("Starting…")
    state = daemon.start_in_background(
        application.settings.paths, supervisor.arguments(options), context.environ
    )
    flower = f" Flower: {state.flower}" if state.flower else ""
    note(f"hermes-jobs is up (process {state.pid}).{flower}")
    if application.settings.serve.enabled:
        note(_pages(application.settings.paths))
    note("`hermes-jobs down` stops it; `hermes-jobs queues` shows what it does.")


def _pages(paths: Paths) -> str:
    from hermes_jobs.features.serve.sign_in import read_running

    if read_running(paths) is None:
        return f"The web pages are not served: {paths.logs / 'serve.log'} says why."
    return "`hermes-jobs open` opens the web pages."


@command(epilog=example("hermes-jobs down"))
def down(context: CliContext) -> None:
    """Stop this home's `up` gracefully, and wait until it has ended.

    Background processes of the agent are stopped, too.
    """
    from hermes_jobs.interfaces.cli.processes import ended_line
    from workers import daemon

    processes = context.application.processes
    ended = processes.running()  # the end of `up` ends them as well
    stopped = daemon.stop(context.settings)
    processes.kill_where(lambda _record: True, wait=True)
    note("Nothing was up." if stopped is None else f"hermes-jobs is down (process {stopped}).")
    if ended:
        note(ended_line(ended))


@command(epilog=example("hermes-jobs run worker", "hermes-jobs run worker -Q turns,tools -c 64"))
@click.option("-Q", "--queues", metavar="A,B", help="Queues to consume.  [default: all]")
@click.option("-c", "--concurrency", type=IntParam(min=1), metavar="N", help="Steps that it runs at once.")
def worker(context: CliContext, queues: str | None, concurrency: int | None) -> int:
    """Run one worker in the foreground. SIGTERM or Ctrl-C stops it gracefully, a second one at once."""
    from workers.worker import run

    chosen = _queues(queues, ALL_QUEUES)
    broker_url = require_broker(context.settings)
    log_to_stderr(context)
    end_with_guard(context.environ)
    return run(context.application, broker_url, queues=chosen, concurrency=concurrency)


@command(epilog=example("hermes-jobs run beat"))
def beat(context: CliContext) -> int:
    """Run the scheduler (Celery beat), which wakes the workers when schedules are due.

    SIGTERM or Ctrl-C stops it. Several may run: each due time still has exactly one run.
    """
    from schedules.beat import run

    broker_url = require_broker(context.settings)
    log_to_stderr(context)
    end_with_guard(context.environ)
    return run(context.application, broker_url)


@command(epilog=example("hermes-jobs run flower --port 5556"))
@click.option(
    "--port",
    type=IntParam(1, 65_535),
    metavar="P",
    default=5555,
    show_default=True,
    help="Port to listen on.",
)
@click.option(
    "--address",
    metavar="HOST",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; any but loopback requires a password.",
)
@click.option(
    "--host",
    "hosts",
    metavar="NAME",
    multiple=True,
    help="A further name under which browsers reach it, such as a proxy's. Can be repeated.",
)
def flower(context: CliContext, port: int, address: str, hosts: tuple[str, ...]) -> None:
    """Run Flower, the dashboard of tasks, queues and workers, in the foreground.

    With FLOWER_BASIC_AUTH=name:password, in the environment or in .env, it asks for a password. Without one
    it is read-only and cannot be reached from other machines. It refuses requests for other hosts than its
    own.
    """
    from workers import flower as dashboard

    password = dashboard.password_of(context.settings, context.environ)
    dashboard.require_password(address, password)
    broker_url = require_broker(context.settings)
    log_to_stderr(context)
    end_with_guard(context.environ)
    dashboard.run(context.application, broker_url, address=address, port=port, password=password, hosts=hosts)


def _queues(chosen: str | None, all_queues: tuple[str, ...]) -> tuple[str, ...]:
    if chosen is None:
        return all_queues
    names = tuple(dict.fromkeys(name.strip() for name in chosen.split(",") if name.strip()))
    unknown = [name for name in names if name not in all_queues]
    if unknown or not names:
        what = f"there is no queue {unknown[0]!r}" if unknown else "no queue is named"
        raise click.BadParameter(
            f"{what}. Known are {', '.join(all_queues)}.", param_hint="'-Q' / '--queues'"
        )
    return names
