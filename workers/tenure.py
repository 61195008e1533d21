"""A process's place among the workers: held while its lease is renewed, taken anew when it was lost."""

from __future__ import annotations

import logging
from collections.abc import Callable

from hermes_jobs.engine.engine import Engine
from hermes_jobs.eventlog.leases import Lease

logger = logging.getLogger(__name__)


class Tenure:
    """The lease under which an engine claims. `new_lease` enters the process among the workers."""

    def __init__(self, engine: Engine, new_lease: Callable[[], Lease]) -> None:
        self._engine = engine
        self._new_lease = new_lease
        self._lease = new_lease()
        engine.worker = self._lease.worker

    def start(self) -> None:
        """Renew the lease from now on, in a thread."""
        self._lease.start()

    def close(self) -> None:
        """Leave the list of workers. Raises `LogUnavailable`."""
        self._lease.close()

    @property
    def holds(self) -> bool:
        """Whether something new may be begun."""
        return self._lease.is_fresh()

    def mind(self) -> bool:
        """Give up what is under way where the lease has run out, and take a new one where it was lost.

        Whether something new may be begun. Raises `LogUnavailable`, to be called again.
        """
        if self._lease.is_fresh():
            return True
        stopped = self._engine.running.stop("lost")
        if stopped:
            logger.warning("the lease has run out: %d steps are given up", stopped)
        if self._lease.is_lost:
            # Where there is no new one to be had, the lost one stays, and the next look tries again.
            lost, self._lease = self._lease, self._new_lease()
            lost.close()
            self._lease.start()
            self._engine.worker = self._lease.worker
            logger.warning("this worker had been declared dead; it goes on as %s", self._lease.worker)
        return self._lease.is_fresh()
