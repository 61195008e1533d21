"""Whether anybody works on an installation's turns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from hermes_jobs.eventlog.log import WorkerRow

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.application import Application

NEEDED = frozenset({"turns", "tools"})


def has_live_workers(application: Application) -> bool:
    """Whether live workers consume what a turn needs.

    A process of this host is known at once to have ended; one of another host is believed for now.
    """
    workers = application.log.workers()
    return cover_required_queues(workers, application.observer().dead(workers))


def cover_required_queues(workers: Sequence[WorkerRow], dead: Collection[str]) -> bool:
    """Whether those of the workers that are not dead consume what a turn needs."""
    lanes = {lane for worker in workers if worker.id not in dead for lane in worker.lanes}
    return lanes >= NEEDED
