"""Leases of worker processes, and failure detection. No clock time is stored.

A process increments a heartbeat counter (`Lease`). A `FailureDetector` that sees a counter unchanged for
`lease_seconds` of its own monotonic clock declares the process dead. On the same host its lock file decides
first: a free lock proves the end at once, and a process that runs and has not given up is alive, however
little CPU it gets.

A process that could not renew for half that time must start no step and stop those that run: the other half
is the margin before its steps are reclaimed. Its lock file holds that deadline for its child processes, also
while it is frozen or waits for a log that does not answer. Where the log is a file of this host, such a
process first looks whether it is still registered: nobody takes steps from one that runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

import msgspec

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.kernel.log.liveness_locks import LivenessLocks, moment
from hermes_jobs.kernel.log.log import EventLog, WorkerRow
from hermes_jobs.kernel.streams.event_types import READS_UP_TO

HEARTBEATS_PER_LEASE = 6
HEARTBEATS_PER_LOCAL_LEASE = 3  # where a late process may confirm its lease, and its lock says that it runs
CHECKS_PER_LEASE = 4


class Lease:
    """This process's entry among the workers, from its making to `close`.

    A lost lease stays lost: to continue, a process makes another one under a new id.
    """

    def __init__(  # noqa: PLR0913 - what an entry holds
        self,
        log: EventLog,
        folder: LivenessLocks,
        *,
        worker: str,
        name: str,
        queues: Sequence[str],
        lease_seconds: float,
        status: Callable[[], str] | None = None,
        clock: Callable[[], float] = moment,
    ) -> None:
        """Registers the process. `worker` is an id that was never used, valid as a file name. `status` gives
        what the process says of itself, a JSON text without secrets; it is published whenever it changes.

        Raises `LogUnavailable`, or `OSError` from the lock folder.
        """
        self.worker = worker
        self._log = log
        self._seconds = lease_seconds
        self._clock = clock
        self._status = status
        self._published = ""
        self._publishing = threading.Lock()
        self._lost = False
        self._is_parted = False
        self._closing = threading.Event()
        folder.sweep()
        self._lock = folder.hold(worker)
        try:
            renewed_at = clock()
            log.register(
                WorkerRow(
                    id=worker,
                    name=name,
                    locks=folder.id,
                    queues=tuple(queues),
                    beats=0,
                    build_level=READS_UP_TO,
                )
            )
            self.publish()
            self._renewed(renewed_at)
        except BaseException:
            self._lock.release()
            raise
        self._thread = threading.Thread(target=self._renew_until_closed, name=f"lease-{worker}", daemon=True)

    def start(self) -> None:
        """Start the thread that renews it."""
        self._thread.start()

    def is_fresh(self) -> bool:
        """Whether a step may be started under it: renewed within half a lease, or confirmed, and not lost."""
        return not self._lost and (self._clock() < self._until or self._is_confirmed())

    def give_up(self) -> None:
        """Let others of this host see that the process does not act under it until it is renewed."""
        self._lock.give_up()

    def _is_confirmed(self) -> bool:
        """Whether the process is still registered, where that says that its steps are its own.

        A process may be late because it gets no CPU, or because writers queue. Reading waits for no writer.
        """
        if self._is_parted or not self._log.is_local:
            return False
        confirmed_at = self._clock()
        try:
            registered = any(worker.id == self.worker for worker in self._log.workers())
        except HermesJobsError:
            return False
        if not registered:
            self._lost = True
            return False
        self._renewed(confirmed_at)
        return True

    @property
    def seconds_left(self) -> float:
        """For how long it stays fresh unless it is renewed; 0 where it is not fresh."""
        return max(0.0, self._until - self._clock()) if self.is_fresh() else 0.0

    def share(self) -> int:
        """A descriptor from which a child process reads until when the lease holds: `LivenessLock.share`."""
        return self._lock.share()

    @property
    def is_lost(self) -> bool:
        """Whether another process has declared this one dead."""
        return self._lost

    def renew(self) -> None:
        """Increment the counter. The lease is not renewed while the log is unreachable."""
        if self._lost:
            return
        # The moment before: the counter may have moved any time after it.
        renewed_at = self._clock()
        try:
            registered = self._log.heartbeat(self.worker)
        except HermesJobsError:
            self._is_parted = True
            return
        if not registered:
            self._lost = True
            return
        self._is_parted = False
        self._renewed(renewed_at)
        with suppress(HermesJobsError):
            self.publish()

    def publish(self) -> None:
        """Publish what the process says of itself, if it has changed. Raises `LogUnavailable`."""
        status = "" if self._status is None else self._status()
        with self._publishing:
            if status != self._published:
                self._log.publish(self.worker, status)
                self._published = status

    def _renewed(self, moment: float) -> None:
        self._until = moment + self._seconds / 2
        self._lock.allow_until(self._until, by_clock=not self._log.is_local)

    def close(self) -> None:
        """Unregister the process. Raises `LogUnavailable`; the lock is released in any case."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()
        was_lost, self._lost = self._lost, True
        try:
            if not was_lost:
                self._log.unregister(self.worker)
        finally:
            self._lock.release()

    def _renew_until_closed(self) -> None:
        beats = HEARTBEATS_PER_LOCAL_LEASE if self._log.is_local else HEARTBEATS_PER_LEASE
        while not self._lost and not self._closing.wait(self._seconds / beats):
            self.renew()


class _HeartbeatRecord(msgspec.Struct):
    """A worker's counter as last seen, and for how many seconds it has not moved."""

    beats: int
    still: float = 0.0


class FailureDetector:
    """Detects processes that have ended. It needs several checks to judge a process of another host.

    A single gap between two checks counts for a quarter of a lease at most, so that a detector which was
    itself suspended does not declare all other processes dead.
    """

    def __init__(
        self,
        folder: LivenessLocks,
        *,
        lease_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._seconds = lease_seconds
        self._monotonic = monotonic
        self._checked_at = monotonic()
        self._records: dict[str, _HeartbeatRecord] = {}

    def dead(self, workers: Sequence[WorkerRow], owners: Collection[str] = ()) -> set[str]:
        """The ids, among all workers but oneself and the owners of steps, of those that have ended.

        Read the owners first: a step's owner was registered before, so it is among the workers or has left.
        """
        now = self._monotonic()
        elapsed = min(now - self._checked_at, self._seconds / CHECKS_PER_LEASE)
        self._checked_at = now
        registered = {worker.id for worker in workers}
        self._records = {worker.id: self._updated_record(worker, elapsed) for worker in workers}
        ended = {worker.id for worker in workers if self._has_ended(worker)}
        return ended | (set(owners) - registered)

    def _updated_record(self, worker: WorkerRow, elapsed: float) -> _HeartbeatRecord:
        before = self._records.get(worker.id)
        if before is None or before.beats != worker.beats:
            return _HeartbeatRecord(worker.beats)
        return _HeartbeatRecord(worker.beats, before.still + elapsed)

    def _has_ended(self, worker: WorkerRow) -> bool:
        is_here, record = worker.locks == self._folder.id, self._records[worker.id]
        if is_here and self._folder.is_free(worker.id):
            return True
        if record.still < self._seconds:
            return False
        if is_here and self._folder.is_at_work(worker.id):
            record.still = self._seconds / 2  # its commands notice within that time if it stops now
            return False
        return True
