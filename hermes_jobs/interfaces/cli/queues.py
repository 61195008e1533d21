"""`hermes-jobs queues`: waiting and running jobs by queue, and live workers. Read from the log, not the
broker."""

from __future__ import annotations

import click
from msgspec.structs import replace

from hermes_jobs.client.queues import (
    HeartbeatTracker,
    QueueStats,
    age,
    queues_of,
    read_stats,
)
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.table import print_table
from hermes_jobs.runtime.queues import ALL_QUEUES


@command(epilog=example("hermes-jobs queues", "hermes-jobs queues --watch"))
@click.option(
    "--watch", is_flag=True, help="Update every second until Ctrl-C; in a pipe, print a line per change."
)
@limit_option("workers", default=None)
def queues(context: CliContext, watch: bool, limit: int | None, as_json: Json) -> None:
    """Show queues (depth, oldest waiting job, running jobs) and live workers.

    LATER counts steps that are not yet due: schedules, retries, expiries of approvals. A worker of another
    host counts as alive until its heartbeat has been silent for workers.lease_seconds, which only --watch can
    observe. In JSON, `workers` consume queues; schedulers, gateways and the like are `others`, with their
    `kind`.
    """
    application = context.application
    watcher = HeartbeatTracker(application)
    watcher.wait_for_heartbeats()

    def look() -> QueueStats:
        load = read_stats(application, ALL_QUEUES, watcher)
        return replace(load, workers=load.workers[:limit], others=load.others[:limit])

    if watch:
        from hermes_jobs.interfaces.cli.queue_watch import watch as keep_watching

        keep_watching(look, as_json=as_json)
        return
    load = look()
    print_result(lambda: load, lambda: _print(load), as_json=as_json)


def _print(load: QueueStats) -> None:
    rows = [
        (queue.name, str(queue.waiting), age(queue.oldest_seconds), str(queue.running), str(queue.later))
        for queue in load.queues
    ]
    headers = ("QUEUE", "WAITING", "OLDEST", "RUNNING", "LATER")
    print_table(headers, rows, main="QUEUE", figures=headers[1:])
    click.echo()
    if load.workers or load.others:
        print_table(
            ("WORKER", "RUNNING", "SEEN", "QUEUES"),
            [
                (worker.name, str(worker.running), f"{age(worker.seen_seconds_ago)} ago", queues_of(worker))
                for worker in (*load.workers, *load.others)
            ],
            figures=("RUNNING", "SEEN"),
        )
    if not load.workers:
        note("No workers are alive. `hermes-jobs up` starts one. Meanwhile `send` runs turns itself.")
