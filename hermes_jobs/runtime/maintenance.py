"""Maintenance thread of a worker process, independent of Celery's pool and broker.

Applies cancellations, appends outcomes that were held while the log was unreachable, interrupts steps whose
lease has expired, reclaims steps of dead workers, and, where it is elected, relays unclaimed steps and ends
waits that a wrong clock decided.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from hermes_jobs.bootstrap.workers import statuses
from hermes_jobs.errors import LogUnavailable, Rejected
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.events import ModelCallFailed, TurnPostponed
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.leases import FailureDetector
from hermes_jobs.kernel.log.log import WorkerRow
from hermes_jobs.kernel.log.outage import LogOutage
from hermes_jobs.kernel.turns.commands import EndWait
from hermes_jobs.kernel.turns.session import is_session
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.runtime.recovery import LogFollower, reclaim_from_dead_workers
from hermes_jobs.runtime.relay import POLL_SECONDS, Relay, Sender, is_elected
from hermes_jobs.runtime.worker_cpu import CpuPinning
from hermes_jobs.runtime.worker_lease import WorkerLease
from hermes_jobs.system.clock import Clock

logger = logging.getLogger(__name__)

PROBE_EVERY = 10.0  # seconds between probes of the broker
PROBE_AWAY_EVERY = 2.0  # seconds between them while it is unreachable
OBSERVE_EVERY = 0.5  # seconds between checks of the other workers
ALONE_EVERY = 2.0  # seconds between checks whether there is another one now
CORRECT_EVERY = 30.0  # seconds between checks for waits that a wrong clock decided
BREATH = 0.02  # seconds between rounds: a busy log always has new events
HURRIED = 0.01  # seconds between rounds that writes by other processes began
LOG_AWAY = 1.0  # seconds before an unreachable log is tried again
AHEAD = 5.0  # seconds; synchronized clocks differ by less
BY = "clock"


class MaintenanceThread:
    """One per process. `place` keeps the process pinned to one CPU; `housekeep` gets every new event."""

    def __init__(
        self,
        engine: Engine,
        observer: FailureDetector,
        lease: WorkerLease,
        sender: Sender,
        place: CpuPinning | None = None,
        housekeep: Callable[[Sequence[RecordedEvent]], None] = lambda _news: None,
    ) -> None:
        self._engine = engine
        self._observer = observer
        self._lease = lease
        self._sender = sender
        self._relay = Relay(engine.log, engine.clock, sender)
        self._broker = BrokerReach(sender, lease, engine.clock)
        self._place = place
        self._housekeep = housekeep
        self._follower = LogFollower(engine)
        self._fast_clocks = FastClockWaits(engine)
        self._outage = LogOutage(logger)
        self._corrected_at = float("-inf")
        self._alive: Sequence[WorkerRow] = ()
        self._without_broker: frozenset[str] = frozenset()
        self._observed_at = float("-inf")
        self._observe_every = OBSERVE_EVERY
        self._poll_at = float("-inf")
        self._relays = False
        self._hurried_at = float("-inf")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="maintenance", daemon=True)

    def start(self) -> None:
        """Start the threads that renew the lease and run `tick`."""
        self._lease.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and remove the process from the list of workers."""
        self._stopping.set()
        self._thread.join()
        try:
            self._lease.close()
        except LogUnavailable:
            logger.warning("the log is unreachable: this worker could not sign off")

    def tick(self) -> bool:
        """Run every task of the thread once; returns whether the log had news. Raises `LogUnavailable`."""
        news = self._follower.poll()
        self._engine.retry_unsaved()
        self._lease.ensure()
        self._housekeep(news)
        now = self._engine.clock.monotonic()
        if now - self._observed_at >= self._observe_every:
            self._observed_at = now
            self.reclaim()
            if self._place is not None:
                self._place.adjust()
        self._broker.follow()
        self._relays = self._is_elected()
        if not self._relays:
            self._relay.remember(self._unsent(news))
            return bool(news)
        self._relay.send_now(self._unsent(news))
        if now - self._corrected_at >= CORRECT_EVERY:
            self._corrected_at = now
            self._fast_clocks.end()
        if news:
            self._poll_at = min(self._poll_at, now + POLL_SECONDS)
        if now >= self._poll_at:
            self._relay.poll()
            self._poll_at = now + self._relay.rest(self._engine.clock.monotonic() - now)
        return bool(news)

    def reclaim(self) -> None:
        """Reclaim the steps of dead workers; store the list of running ones."""
        reclaimed = reclaim_from_dead_workers(self._engine, self._observer)
        for row in reclaimed:
            logger.info("step %s of %s is taken over: its worker stopped", row.step.id, row.owner)
        self._alive = self._engine.log.workers()
        alone = all(each.id == self._engine.worker or not each.queues for each in self._alive)
        self._observe_every = ALONE_EVERY if alone else OBSERVE_EVERY
        by_worker = statuses(self._engine.log)
        self._without_broker = frozenset(worker for worker, status in by_worker.items() if status.no_broker)

    def _is_elected(self) -> bool:
        """Whether this process relays. What is published about itself may be older than what it knows."""
        worker = self._engine.worker
        others = self._without_broker - {worker}
        return is_elected(worker, self._alive, others | {worker} if self._sender.problem else others)

    def _unsent(self, news: Sequence[RecordedEvent]) -> set[str]:
        """The streams written by processes that send no messages: the command line, another tool."""
        senders = {worker.id for worker in self._alive if worker.queues} | {self._engine.worker}
        return {recorded.stream for recorded in news if recorded.meta.worker not in senders}

    def _throttle(self) -> None:
        """Wait before the next round. A write by another process ends the wait, but not before `HURRIED`."""
        if self._engine.log.wait_for_others(BREATH):
            now = self._engine.clock.monotonic()
            self._stopping.wait(max(0.0, self._hurried_at + HURRIED - now))
            self._hurried_at = now

    def _rest(self) -> float:
        """Seconds until a round has something to do other than what is recorded meanwhile."""
        at = self._observed_at + self._observe_every
        if self._relays:
            at = min(at, self._poll_at)
        return max(0.0, at - self._engine.clock.monotonic())

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if self.tick():
                    self._throttle()
                if not self._stopping.is_set():
                    self._engine.log.wait(self._follower.position, self._rest())
                self._outage.ends()
            except LogUnavailable as error:
                self._outage.begins(error)
                self._stopping.wait(LOG_AWAY)
            except Exception:
                logger.exception("maintenance failed; it continues")
                self._stopping.wait(LOG_AWAY)


class BrokerReach:
    """Tells other workers and the log of this process when the broker becomes unreachable, and when it is
    reachable again: a worker that cannot send must not relay."""

    def __init__(self, sender: Sender, lease: WorkerLease, clock: Clock) -> None:
        self._sender = sender
        self._lease = lease
        self._clock = clock
        self._told = False
        self._probed_at = float("-inf")
        self._probing = threading.Thread(target=str)

    def follow(self) -> None:
        """Tell of a change; probe the broker periodically, in a thread. Raises `LogUnavailable`."""
        problem = self._sender.problem
        now = self._clock.monotonic()
        is_due = now - self._probed_at >= (PROBE_AWAY_EVERY if problem else PROBE_EVERY)
        if is_due and not self._probing.is_alive():
            self._probed_at = now
            self._probing = threading.Thread(target=self._sender.probe, name="broker-probe", daemon=True)
            self._probing.start()
        if bool(problem) == self._told:
            return
        self._told = bool(problem)
        if problem:
            logger.warning("the broker is unreachable (%s): a worker that reaches one relays", problem)
        else:
            logger.warning("the broker is reachable again")
        self._lease.publish()


class FastClockWaits:
    """Ends waits for a quota or a server that a process with a fast clock decided: they would last too long.

    Each wait is checked once. The turn calls again; a further wait is measured by this host's clock.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._seen: set[Step] = set()

    def end(self) -> int:
        """End those that were found since the last time; returns how many. Raises `LogUnavailable`."""
        now = self._engine.clock.now()
        steps = {row.step for row in self._engine.log.steps() if row.owner is None}
        waiting = {step for step in steps if step.not_before > now and is_session(step.stream)}
        new, self._seen = waiting - self._seen, waiting
        return sum(self._end(step, now) for step in new)

    def _end(self, step: Step, now: float) -> bool:
        turn = self._engine.sessions.load(step.stream).current
        if turn is None or not turn.waits_until or turn.step_id != step.id:
            return False
        ahead = self._decided_at(step.stream) - now
        if ahead <= AHEAD:
            return False
        try:
            self._engine.execute(step.stream, EndWait(turn=turn.id, by=BY))
        except Rejected:  # it has continued meanwhile
            return False
        logger.warning(
            "turn %s waited by a clock that is %.0f s ahead; it is tried again now", turn.id, ahead
        )
        return True

    def _decided_at(self, stream: str) -> float:
        """When the newest wait of the stream was recorded, by the clock that decided it."""
        for record in reversed(self._engine.log.read(stream)):
            if isinstance(record.event, ModelCallFailed | TurnPostponed):
                return datetime.fromisoformat(record.recorded_at).timestamp()
        return 0.0
