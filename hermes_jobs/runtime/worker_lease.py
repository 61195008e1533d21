"""A worker process's lease: renewed periodically, and acquired again after it was lost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.in_flight import LOST
from hermes_jobs.kernel.log.leases import Lease

logger = logging.getLogger(__name__)


BREATH = 0.1  # seconds between two checks of an expired lease


class WorkerLease:
    """The lease under which an engine claims steps. `new_lease` registers the process as a worker.

    A thread that never waits for a write to the log interrupts running steps when the lease expires, also
    while the log is unreachable.
    """

    def __init__(self, engine: Engine, new_lease: Callable[[], Lease]) -> None:
        self._engine = engine
        self._new_lease = new_lease
        self._lease = new_lease()
        self._closing = threading.Event()
        self._guard = threading.Thread(target=self._watch, name="tenure", daemon=True)
        self._begin_under(self._lease)

    def start(self) -> None:
        """Start the threads that renew and watch the lease."""
        self._lease.start()
        self._guard.start()

    def close(self) -> None:
        """Remove the process from the list of workers. Raises `LogUnavailable`."""
        self._closing.set()
        if self._guard.is_alive():
            self._guard.join()
        self._lease.close()

    @property
    def is_valid(self) -> bool:
        """Whether a new step may be started."""
        return self._lease.is_fresh()

    def publish(self) -> None:
        """Publish at once what the process says of itself. Raises `LogUnavailable`."""
        if not self._lease.is_lost:
            self._lease.publish()

    def ensure(self) -> bool:
        """Interrupt running steps if the lease has expired, and acquire a new one if it was lost.

        Returns whether a new step may be started. Raises `LogUnavailable`; call it again then.
        """
        if self._lease.is_fresh():
            return True
        self._give_up()
        if self._lease.is_lost:
            # If no new lease can be acquired, the lost one stays, and the next check tries again.
            lost, self._lease = self._lease, self._new_lease()
            lost.close()
            self._lease.start()
            self._begin_under(self._lease)
            logger.warning("this worker had been declared dead; it continues as %s", self._lease.worker)
        return self._lease.is_fresh()

    def _begin_under(self, lease: Lease) -> None:
        self._engine.worker = lease.worker
        self._engine.in_flight.lease = lease

    def _give_up(self) -> None:
        self._lease.give_up()
        stopped = self._engine.in_flight.stop(LOST)
        if stopped:
            logger.warning("the lease has run out: %d steps are given up", stopped)

    def _watch(self) -> None:
        while not self._closing.wait(self._lease.seconds_left or BREATH):
            if not self._lease.is_fresh():
                self._give_up()
