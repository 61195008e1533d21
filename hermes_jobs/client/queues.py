"""Queues and workers at one point in time, read from the log."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.text.figures import duration

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.log.log import EventLog, StepRow, WorkerRow
    from hermes_jobs.kernel.turns.steps import Step

BEATS_MISSED = 1.5  # heartbeats of a remote worker to wait for
LOOK_BACK = 200  # events of a stream that are read to find when a step became due
WORKER = "worker"
WITHOUT_QUEUES = {
    "beat": "none: it starts due schedules",
    "gateway": "none: it listens to a chat",
    "inline": "none: it runs the turns of one command",
}


class QueueLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One queue. `waiting`: due and unclaimed, the oldest for `oldest_seconds`; `later`: not due."""

    name: str
    waiting: int
    running: int
    later: int
    oldest_seconds: float | None


class LiveWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A live process with a lease: its running steps, and the age of its last heartbeat.

    `kind`: `worker`, or what it is that consumes no queue: `beat`, `gateway`, `inline` (runs the turns of one
    command).
    """

    name: str
    kind: str = WORKER
    queues: tuple[str, ...]
    running: int
    seen_seconds_ago: float


class QueueStats(msgspec.Struct, frozen=True, kw_only=True):
    """All queues and workers at one point in time. `others` are processes that consume no queue."""

    queues: tuple[QueueLoad, ...]
    others: tuple[LiveWorker, ...] = ()
    workers: tuple[LiveWorker, ...]


class HeartbeatTracker:
    """Tracks when this process last saw each worker's heartbeat change."""

    def __init__(self, application: Application) -> None:
        self._log = application.log
        self._clock = application.clock
        self._observer = application.workers.failure_detector()
        self._lease_seconds = application.settings.workers.lease_seconds
        self._beats: dict[str, int] = {}
        self._moved_at: dict[str, float] = {}

    def alive(self) -> Sequence[tuple[WorkerRow, float]]:
        """The live workers, each with the seconds since its last seen heartbeat."""
        workers = self._log.workers()
        dead = self._observer.dead(workers)
        now = self._clock.monotonic()
        for worker in workers:
            if self._beats.get(worker.id) != worker.beats:
                self._beats[worker.id] = worker.beats
                self._moved_at[worker.id] = now
        return [(worker, now - self._moved_at[worker.id]) for worker in workers if worker.id not in dead]

    def wait_for_heartbeats(self) -> None:
        """Poll until every live worker's heartbeat has changed, for little more than one interval."""
        from hermes_jobs.kernel.log.leases import HEARTBEATS_PER_LEASE

        first_beats = {worker.id: worker.beats for worker, _ in self.alive()}
        until = self._clock.monotonic() + BEATS_MISSED * self._lease_seconds / HEARTBEATS_PER_LEASE
        while self._clock.monotonic() < until:
            if all(first_beats.get(worker.id) != worker.beats for worker, _ in self.alive()):
                return
            time.sleep(0.05)


def read_stats(application: Application, names: Sequence[str], watcher: HeartbeatTracker) -> QueueStats:
    """Waiting and running steps, by queue and by worker."""
    log, now = application.log, application.clock.now()
    rows = log.steps()
    alive = watcher.alive()
    running = [row.owner for row in rows if row.owner is not None]
    at_work = {worker.id for worker, _ in alive}
    processes = [
        LiveWorker(
            name=worker.id,
            kind=WORKER if worker.queues else worker.name,
            queues=worker.queues,
            running=running.count(worker.id),
            seen_seconds_ago=round(seconds, 1),
        )
        for worker, seconds in sorted(alive, key=lambda item: item[0].id)
    ]
    return QueueStats(
        queues=tuple(
            _queue_load(log, [row for row in rows if row.step.queue == name], name, now, at_work)
            for name in names
        ),
        workers=tuple(process for process in processes if process.kind == WORKER),
        others=tuple(process for process in processes if process.kind != WORKER),
    )


def _queue_load(
    log: EventLog, rows: Sequence[StepRow], name: str, now: float, at_work: Collection[str]
) -> QueueLoad:
    idle = [row.step for row in rows if row.owner not in at_work]  # including steps of dead workers
    waiting = [step for step in idle if step.not_before <= now]
    # Oldest first. A retry keeps its place, so that the first may be a little younger than another one.
    since = _due_since(log, waiting[0]) if waiting else None
    return QueueLoad(
        name=name,
        waiting=len(waiting),
        running=len(rows) - len(idle),
        later=len(idle) - len(waiting),
        oldest_seconds=None if since is None else round(max(0.0, now - since), 1),
    )


def _due_since(log: EventLog, step: Step) -> float | None:
    """When the step became due: its own time, else that of the event that can have caused it.

    A step's row has no time. The cause is the last event of its turn, but not of siblings of tool calls and
    members; for a compression its request or its flush; for anything else the last event of its stream.
    """
    from hermes_jobs.kernel import events as e

    if step.not_before > 0:
        return step.not_before
    head = log.head(step.stream)
    if head is None:
        return None
    turn = step.id.partition("-")[0]
    siblings: tuple[type[e.Event], ...] = ()
    if step.kind == "turn.run_tool":
        siblings = (e.ToolStarted, e.ToolFinished, e.ToolInterrupted)
    elif step.kind == "turn.reference":
        siblings = (e.ReferenceStarted, e.ReferenceReplied, e.ReferenceFailed)

    def caused(event: e.Event) -> bool:
        if step.kind in {"compression.flush", "compression.compress"}:
            return isinstance(event, (e.CompressionRequested, e.ContextFlushed))
        return getattr(event, "turn", None) == turn and not isinstance(event, (e.OutcomeDiscarded, *siblings))

    newest_first = log.read(step.stream, after=max(0, head.version - LOOK_BACK))[::-1]
    cause = next((recorded for recorded in newest_first if caused(recorded.event)), newest_first[0])
    return datetime.fromisoformat(cause.recorded_at).timestamp()


def queues_of(worker: LiveWorker) -> str:
    """The queues that a worker consumes, or its kind."""
    return ", ".join(worker.queues) or WITHOUT_QUEUES.get(worker.kind, "none")


def age(seconds: float | None) -> str:
    """The age of a step, for users; empty for none."""
    return "" if seconds is None else duration(seconds)
