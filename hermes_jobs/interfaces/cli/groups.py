"""`hermes-jobs run` and `hermes-jobs log`: groups of commands that are seldom called by hand."""

from __future__ import annotations

import click

from hermes_jobs.interfaces.cli.lazy_group import LazyGroup
from hermes_jobs.interfaces.cli.options import example
from hermes_jobs.kernel.feature import Command, commands

PROCESSES = {
    "worker": Command("workers.cli:worker", "Run one worker."),
    "beat": Command("workers.cli:beat", "Run the scheduler (Celery beat), which wakes due schedules."),
    "flower": Command("workers.cli:flower", "Run Flower, the dashboard."),
    **commands("run"),
    "metrics": Command(".metrics:metrics", "Print or serve metrics for Prometheus."),
}
RECORDS = {
    "events": Command(".events:events", "Print events, or verify the log."),
    "views": Command(".views:views", "Show or rebuild the read models."),
}


@click.group(
    cls=LazyGroup,
    table=PROCESSES,
    epilog=example("hermes-jobs run worker", "hermes-jobs run gateway telegram"),
)
def run() -> None:
    """Run one process of a larger installation. `up` runs all that one machine needs.

    `hermes-jobs worker` is the same as `hermes-jobs run worker`; the others likewise.
    """


@click.group(
    cls=LazyGroup,
    table=RECORDS,
    epilog=example("hermes-jobs log events --json", "hermes-jobs log events verify"),
)
def log() -> None:
    """The log that holds everything, and the read models that follow from it.

    `hermes-jobs events` is the same as `hermes-jobs log events`, and `views` likewise.
    """
