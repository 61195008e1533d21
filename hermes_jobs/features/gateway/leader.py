"""Leader election per gateway account: one process polls, the others stand by and take over.

The leader is recorded in the log (`GatewayTaken`); as with steps, its lease shows whether it is alive.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from hermes_jobs.features.gateway import events as e
from hermes_jobs.features.gateway.rules.gateway import Gateway, stream_of
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.log.leases import Lease
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader
from hermes_jobs.runtime.recovery import DeadWorkerDetector

logger = logging.getLogger(__name__)


class GatewayLeader:
    """This process's candidacy for one gateway account. Used by one thread at a time."""

    def __init__(
        self, engine: Engine, gateway: str, new_lease: Callable[[], Lease], observer: DeadWorkerDetector
    ) -> None:
        self._engine = engine
        self._gateway = gateway
        self._new_lease = new_lease
        self._observer = observer
        self._lease = self._start_lease()

    def close(self) -> None:
        """Give up leadership. Raises `LogUnavailable`."""
        self._lease.close()

    def is_leader(self) -> bool:
        """Whether this process is the leader; it becomes the leader if no live process is.

        Raises `LogUnavailable`.
        """
        if self._lease.is_lost:
            logger.warning("this process lost its lease and is standby now")
            self._lease.close()
            self._lease = self._start_lease()
        if not self._lease.is_fresh():
            return False
        holder = self._state().worker
        if holder != self._lease.worker and not self._is_alive(holder):
            self._engine.change(self._take_from(holder), "gateway")
        return self._state().worker == self._lease.worker

    def _start_lease(self) -> Lease:
        lease = self._new_lease()
        lease.start()
        self._engine.worker = lease.worker
        return lease

    def _state(self) -> Gateway:
        state = self._engine.state(stream_of(self._gateway))
        assert isinstance(state, Gateway)
        return state

    def _is_alive(self, holder: str | None) -> bool:
        if holder is None:
            return False
        return holder not in self._observer.dead(self._engine.log.workers(), {holder})

    def _take_from(self, holder: str | None) -> Decision:
        def change(load: StateLoader) -> DecisionResult:
            gateway: Gateway = load(stream_of(self._gateway))
            if gateway.worker != holder:  # another process was faster
                return DecisionResult()
            event = e.GatewayTaken(gateway=self._gateway, worker=self._lease.worker)
            return DecisionResult.of(gateway.stream, event)

        return change
