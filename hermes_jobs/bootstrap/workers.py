"""The workers of a home: their leases, their status, and whether running ones meet a turn's requirements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.kernel.log.leases import FailureDetector, Lease
from hermes_jobs.kernel.log.liveness_locks import LivenessLocks
from hermes_jobs.kernel.log.log import WorkerRow
from hermes_jobs.settings.person_locale import PersonLocale
from hermes_jobs.settings.search_providers import SEARCH_KEYS
from hermes_jobs.settings.turn_settings import SEARCH_URL, available_digests
from hermes_jobs.system.struct_types import described

if TYPE_CHECKING:
    from hermes_jobs.kernel.log.log import EventLog
    from hermes_jobs.settings import LiveSettings, Settings
    from hermes_jobs.system.ids import Ids

OF_SEARCHES = frozenset({SEARCH_URL, *SEARCH_KEYS})
NEEDED = frozenset({"turns", "tools"})
"""The queues of a turn's steps."""
RUN_STEPS = ("worker", "inline")
"""The names of processes that run steps."""


class WorkerStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """The status that a worker process publishes for the others. It has no secrets.

    `has`: digests of keys and addresses by name. `problem`: why it uses older settings than the files hold;
    `outdated`: keys whose change needs a restart. `locale`: the default of the agent's commands.
    `unreachable`: why a gateway's platform is unreachable. `no_broker`: why a worker cannot send messages.
    """

    has: Mapping[str, str] = {}
    problem: str = ""
    outdated: tuple[str, ...] = ()
    locale: PersonLocale = PersonLocale()
    unreachable: str = ""
    no_broker: str = ""

    def meets(self, requires: Mapping[str, str]) -> bool:
        """Whether it has all that a turn requires."""
        return meets(requires, self.has)


def meets(requires: Mapping[str, str], has: Mapping[str, str]) -> bool:
    """Whether all that is required is there."""
    return all(has.get(name) == digest for name, digest in requires.items())


def statuses(log: EventLog) -> Mapping[str, WorkerStatus]:
    """The statuses of the registered processes, by id. Raises `LogUnavailable`."""
    by_worker = {}
    for worker, text in log.statuses().items():
        try:
            by_worker[worker] = msgspec.json.decode(text, type=described(WorkerStatus))
        except msgspec.DecodeError:  # of another build
            continue
    return by_worker


def of_tools(requires: Mapping[str, str]) -> Mapping[str, str]:
    """A turn's requirements on the worker that runs its tools: without a model's keys and addresses."""
    return {
        name: digest
        for name, digest in requires.items()
        if name in OF_SEARCHES or not (name.isupper() or name.endswith("base_url"))
    }


def cover_required_queues(
    log: EventLog, workers: Sequence[WorkerRow], dead: Collection[str], requires: Mapping[str, str]
) -> bool:
    """Whether the workers that are not `dead` consume the queues that a turn needs, and have what it
    requires. Raises `LogUnavailable`."""
    live = [worker for worker in workers if worker.id not in dead]
    queues = {queue for worker in live for queue in worker.queues}
    if not requires or not queues >= NEEDED:
        return queues >= NEEDED
    by_worker = statuses(log)
    required = {"turns": requires, "tools": of_tools(requires)}
    return all(
        any(
            queue in worker.queues and worker.id in by_worker and by_worker[worker.id].meets(need)
            for worker in live
        )
        for queue, need in required.items()
    )


class HomeWorkers:
    """All processes with a lease. Every method but `lease` and `failure_detector` raises `LogUnavailable`.

    The end of a process of this host is detected immediately; one of another host counts as live until its
    lease ends.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        log: EventLog,
        live: LiveSettings,
        ids: Ids,
        locale: Callable[[], PersonLocale],
    ) -> None:
        """`locale` is the person's, as this process has it."""
        self._log = log
        self._live = live
        self._ids = ids
        self._locale = locale
        self._redact = settings.secrets.redact
        self._locks = LivenessLocks(settings.paths.run / "workers")
        self._lease_seconds = settings.workers.lease_seconds

    # --- this process ---------------------------------------------------------------------------

    def lease(
        self,
        name: str,
        *,
        queues: Sequence[str] = (),
        unreachable: Callable[[], str] | None = None,
        no_broker: Callable[[], str] = str,
    ) -> Lease:
        """A new lease for this process; the caller starts and closes it.

        `unreachable`: why a gateway's platform is unreachable; empty if it is reachable. `no_broker`: the
        same of a worker's broker.
        """
        status = partial(self._status, no_broker) if name in RUN_STEPS else None
        if unreachable is not None:
            status = partial(self._gateway_status, unreachable)
        return Lease(
            self._log,
            self._locks,
            worker=f"{name}-{self._ids.name('')}",
            name=name,
            queues=queues,
            lease_seconds=self._lease_seconds,
            status=status,
        )

    def _status(self, no_broker: Callable[[], str]) -> str:
        settings = self._live.current()
        has = available_digests(settings, self._log.log_id)
        return _json(
            WorkerStatus(has, self._live.problem, self._live.outdated, self._locale(), no_broker=no_broker())
        )

    def _gateway_status(self, unreachable: Callable[[], str]) -> str:
        return _json(WorkerStatus(unreachable=self._redact(unreachable())))

    # --- all of them ----------------------------------------------------------------------------

    def failure_detector(self) -> FailureDetector:
        """A new failure detector, which reports ended workers."""
        return FailureDetector(self._locks, lease_seconds=self._lease_seconds)

    def are_live(self, requires: Mapping[str, str] | None = None) -> bool:
        """Whether live workers consume the queues that a turn needs, and have what it requires."""
        workers = self._log.workers()
        dead = self.failure_detector().dead(workers)
        return cover_required_queues(self._log, workers, dead, requires or {})

    def has_consumer(self, queue: str) -> bool:
        """Whether a live worker consumes the queue."""
        workers = self._log.workers()
        dead = self.failure_detector().dead(workers)
        return any(queue in worker.queues and worker.id not in dead for worker in workers)

    def lacking(self, requires: Mapping[str, str]) -> Sequence[str]:
        """The names of what a turn requires and no live worker has; all of them where each is had by
        another."""
        workers, by_worker = self._log.workers(), statuses(self._log)
        dead = self.failure_detector().dead(workers)
        live = [
            by_worker[worker.id]
            for worker in workers
            if worker.queues and worker.id in by_worker and worker.id not in dead
        ]
        missing = [
            name
            for name, digest in requires.items()
            if all(status.has.get(name) != digest for status in live)
        ]
        return missing or list(requires)


def _json(status: WorkerStatus) -> str:
    return msgspec.json.encode(status).decode()
