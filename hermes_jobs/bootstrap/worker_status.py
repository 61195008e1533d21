"""Whether live workers consume the queues that a turn needs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from hermes_jobs.eventlog.log import WorkerRow

if TYPE_CHECKING:
    from hermes_jobs.eventlog.leases import FailureDetector
    from hermes_jobs.eventlog.log import EventLog

NEEDED = frozenset({"turns", "tools"})


def has_live_workers(log: EventLog, detector: FailureDetector) -> bool:
    """Whether live workers consume the queues that a turn needs. Raises `LogUnavailable`.

    The end of a process of this host is seen at once; one of another host counts as live until its lease
    ends.
    """
    workers = log.workers()
    return cover_required_queues(workers, detector.dead(workers))


def cover_required_queues(workers: Sequence[WorkerRow], dead: Collection[str]) -> bool:
    """Whether the workers that are not `dead` consume the queues that a turn needs."""
    lanes = {lane for worker in workers if worker.id not in dead for lane in worker.lanes}
    return lanes >= NEEDED
