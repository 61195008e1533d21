"""`hermes-jobs worker`, `beat` and `flower`: one process of a larger installation."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

from hermes_jobs.cli.invocation import Invocation, pass_invocation
from hermes_jobs.cli.options import example
from hermes_jobs.cli.process_log import log_to_stderr
from hermes_jobs.cli.values import Whole


@click.command(epilog=example("hermes-jobs worker", "hermes-jobs worker -Q turns,tools -c 64"))
@click.option("-Q", "--queues", metavar="A,B", help="Only these queues.  [default: all]")
@click.option("-c", "--concurrency", type=Whole(min=1), metavar="N", help="Threads.")
@pass_invocation
def worker(invocation: Invocation, queues: str | None, concurrency: int | None) -> int:
    """Run one worker in the foreground. SIGTERM or Ctrl-C stops it warmly, a second one at once."""
    if TYPE_CHECKING:
        from workers import app, celery_worker
    else:
        app, celery_worker = import_module("workers.app"), import_module("workers.celery_worker")
    chosen = _queues(queues, app.ALL_QUEUES)
    broker_url = _broker_url(invocation)
    log_to_stderr(invocation)
    return celery_worker.run(invocation.installation, broker_url, queues=chosen, concurrency=concurrency)


@click.command(epilog=example("hermes-jobs beat"))
@pass_invocation
def beat(invocation: Invocation) -> int:
    """Run beat, which wakes the workers when schedules are due. SIGTERM or Ctrl-C stops it.

    Any number of beats may run: each due time has one run.
    """
    if TYPE_CHECKING:
        from schedules import beat as beats
    else:
        beats = import_module("schedules.beat")
    broker_url = _broker_url(invocation)
    log_to_stderr(invocation)
    return beats.run(invocation.installation, broker_url)


@click.command(epilog=example("hermes-jobs flower --port 5556"))
@click.option("--port", type=Whole(1, 65_535), metavar="P", default=5555, show_default=True, help="Its port.")
@click.option(
    "--address",
    metavar="HOST",
    default="127.0.0.1",
    show_default=True,
    help="Where it listens; others need a password.",
)
@pass_invocation
def flower(invocation: Invocation, port: int, address: str) -> None:
    """Run Flower, the dashboard of tasks, queues and workers, in the foreground.

    With FLOWER_BASIC_AUTH=name:password, in the environment or in .env, it asks for a password; without one
    nothing can be changed there, and other machines cannot reach it.
    """
    if TYPE_CHECKING:
        from workers import flower as dashboard
    else:
        dashboard = import_module("workers.flower")
    password = dashboard.password_of(invocation.settings, invocation.environ)
    dashboard.require_password(address, password)
    broker_url = _broker_url(invocation)
    log_to_stderr(invocation)
    dashboard.run(invocation.installation, broker_url, address=address, port=port, password=password)


def _queues(chosen: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if chosen is None:
        return known
    names = tuple(dict.fromkeys(name.strip() for name in chosen.split(",") if name.strip()))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise click.BadParameter(
            f"unknown: {', '.join(unknown) or 'none given'}. Known are {', '.join(known)}.", param_hint="-Q"
        )
    return names


def _broker_url(invocation: Invocation) -> str:
    """The broker that a process of this home works with. Raises `BrokerUnavailable`."""
    if TYPE_CHECKING:
        from workers import broker
    else:
        broker = import_module("workers.broker")
    return broker.require_broker(invocation.settings)
