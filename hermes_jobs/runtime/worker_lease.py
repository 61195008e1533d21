"""A process's place among the workers: held while its lease is renewed, taken again when it was lost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from hermes_jobs.engine.engine import Engine
from hermes_jobs.engine.in_flight import LOST
from hermes_jobs.eventlog.leases import Lease

logger = logging.getLogger(__name__)


BREATH = 0.1  # seconds between two looks at a lease that is not fresh


class WorkerLease:
    """The lease under which an engine claims. `new_lease` enters the process among the workers.

    A thread that never waits for the log ends what is under way when the lease runs out, also where the log
    does not answer.
    """

    def __init__(self, engine: Engine, new_lease: Callable[[], Lease]) -> None:
        self._engine = engine
        self._new_lease = new_lease
        self._lease = new_lease()
        self._closing = threading.Event()
        self._guard = threading.Thread(target=self._watch, name="tenure", daemon=True)
        self._begin_under(self._lease)

    def start(self) -> None:
        """Renew the lease from now on and watch that it is, in threads."""
        self._lease.start()
        self._guard.start()

    def close(self) -> None:
        """Leave the list of workers. Raises `LogUnavailable`."""
        self._closing.set()
        if self._guard.is_alive():
            self._guard.join()
        self._lease.close()

    @property
    def is_valid(self) -> bool:
        """Whether something new may be begun."""
        return self._lease.is_fresh()

    def ensure(self) -> bool:
        """Give up what is under way where the lease has run out, and take a new one where it was lost.

        Whether something new may be begun. Raises `LogUnavailable`, to be called again.
        """
        if self._lease.is_fresh():
            return True
        self._give_up()
        if self._lease.is_lost:
            # Where there is no new one to be had, the lost one stays, and the next look tries again.
            lost, self._lease = self._lease, self._new_lease()
            lost.close()
            self._lease.start()
            self._begin_under(self._lease)
            logger.warning("this worker had been declared dead; it goes on as %s", self._lease.worker)
        return self._lease.is_fresh()

    def _begin_under(self, lease: Lease) -> None:
        self._engine.worker = lease.worker
        self._engine.running.lease = lease

    def _give_up(self) -> None:
        stopped = self._engine.running.stop(LOST)
        if stopped:
            logger.warning("the lease has run out: %d steps are given up", stopped)

    def _watch(self) -> None:
        while not self._closing.wait(self._lease.seconds_left or BREATH):
            if not self._lease.is_fresh():
                self._give_up()
