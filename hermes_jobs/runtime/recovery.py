"""Cancellations from other processes, and recovery of steps of dead workers."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import Protocol

from hermes_jobs.errors import NewerSchema
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.events import TextsForgotten, TurnCancelRequested
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.log import StepRow, WorkerRow
from hermes_jobs.kernel.turns.session import is_session

logger = logging.getLogger(__name__)

BATCH = 1000  # events in memory at once


class DeadWorkerDetector(Protocol):
    """Detects dead workers."""

    def dead(self, workers: Sequence[WorkerRow], owners: Collection[str]) -> set[str]:
        """The ids, among the workers and the owners of steps, whose process is known to be dead."""


class LogFollower:
    """Follows the log: interrupts this process's running steps of cancelled turns, and updates this host's
    files after writes by other processes.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._has_warned = False
        self.position = engine.log.last_position()

    def poll(self, *, to_end: bool = False) -> list[RecordedEvent]:
        """Handle new events; returns them, in order.

        Without `to_end` the log may have more, if it has events that only a newer build can read: those after
        them are of the next poll.
        """
        news: list[RecordedEvent] = []
        while batch := self._readable():
            news.extend(batch)
            self.position = batch[-1].position
            if len(batch) < BATCH and not to_end:
                break
        if any(isinstance(record.event, TextsForgotten) for record in news):
            self._engine.sessions.forget_all()
        cancelled = {record.event.turn for record in news if isinstance(record.event, TurnCancelRequested)}
        if cancelled:
            self._engine.in_flight.stop("cancelled", lambda act: act.turn in cancelled)
        followed = {
            record.stream
            for record in news
            if not is_session(record.stream) and record.meta.worker != self._engine.worker
        }
        if followed and self._engine.file_sync is not None:
            self._engine.file_sync(sorted(followed))
        return news

    def _readable(self) -> Sequence[RecordedEvent]:
        """New events, without those that only a newer build can read: their streams are left to it."""
        while True:
            try:
                return self._engine.log.tail(self.position, BATCH)
            except NewerSchema as error:
                if not self._has_warned:
                    logger.warning("%s Streams that hold such events are left to newer workers.", error)
                self._has_warned = True
                self.position += 1


def reclaim_from_dead_workers(engine: Engine, observer: DeadWorkerDetector) -> Sequence[StepRow]:
    """Abandon the steps of dead workers so that they are due again; returns those steps."""
    log = engine.log
    claimed = log.claimed_by_others(engine.worker)
    workers = [worker for worker in log.workers() if worker.id != engine.worker]
    dead = observer.dead(workers, {row.owner for row in claimed if row.owner})
    # Evict first: a process that resumes at this moment either renews its lease before, and keeps its steps,
    # or its next renewal fails, so that it starts no further step under that lease.
    dead -= {worker.id for worker in workers if worker.id in dead and not log.evict(worker)}
    return [row for row in claimed if row.owner in dead and engine.reclaim(row)]
