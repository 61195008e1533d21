"""`hermes-jobs queues`: what waits and runs by queue, and who works. The log tells it, not the broker."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import replace

from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import example, json_option, limit_option
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.table import print_table
from hermes_jobs.runtime.queues import ALL_QUEUES
from hermes_jobs.text.figures import duration

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.domain.session.steps import Step
    from hermes_jobs.eventlog.log import EventLog, StepRow, WorkerRow


@click.command(epilog=example("hermes-jobs queues", "hermes-jobs queues --watch"))
@click.option("--watch", is_flag=True, help="Look again every second, until Ctrl-C; piped, a line a change.")
@limit_option("workers", default=None)
@json_option
@pass_context
def queues(context: CliContext, watch: bool, limit: int | None, as_json: bool) -> None:
    """Show queues (depth, oldest waiting job, running jobs) and live workers.

    LATER counts what waits for its time: a schedule, a retry, an approval's end. A worker of another host is
    believed alive until its heartbeat has stood still for workers.lease_seconds; --watch looks long enough to
    tell.
    """
    application = context.application
    watcher = HeartbeatTracker(application)
    watcher.wait_for_heartbeats()

    def look() -> QueueStats:
        load = read_stats(application, ALL_QUEUES, watcher)
        return replace(load, workers=load.workers[:limit])

    if watch:
        from hermes_jobs.interfaces.cli.queue_watch import watch as keep_watching

        keep_watching(look, as_json=as_json)
        return
    load = look()
    print_result(lambda: load, lambda: _print(load), as_json=as_json)


def _print(load: QueueStats) -> None:
    rows = [
        (each.name, str(each.waiting), age(each.oldest_seconds), str(each.running), str(each.later))
        for each in load.queues
    ]
    headers = ("QUEUE", "WAITING", "OLDEST", "RUNNING", "LATER")
    print_table(headers, rows, telling="QUEUE", figures=headers[1:])
    click.echo()
    if load.workers:
        print_table(
            ("WORKER", "RUNNING", "SEEN", "QUEUES"),
            [
                (each.name, str(each.running), f"{age(each.seen_seconds_ago)} ago", queues_of(each))
                for each in load.workers
            ],
            figures=("RUNNING", "SEEN"),
        )
    else:
        note("No workers are alive. `hermes-jobs up` starts one; `send` works by itself meanwhile.")


LOOK_BACK = 200  # events of a stream that are read to learn since when a step waits
ALONE = "none: it works for its own command"
BEATS_MISSED = 1.5  # heartbeats of a worker elsewhere that a single look waits for


class QueueLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One queue. `waiting`: due, with nobody at it, the oldest for `oldest_seconds`; `later`: not due."""

    name: str
    waiting: int
    running: int
    later: int
    oldest_seconds: float | None


class LiveWorker(msgspec.Struct, frozen=True, kw_only=True):
    """One process that works: its steps under way, and the age of its last sign of life."""

    name: str
    queues: tuple[str, ...]
    running: int
    seen_seconds_ago: float


class QueueStats(msgspec.Struct, frozen=True, kw_only=True):
    """The whole installation at one moment."""

    queues: tuple[QueueLoad, ...]
    workers: tuple[LiveWorker, ...]


class HeartbeatTracker:
    """Remembers when each worker last gave a sign of life, as far as this process has seen."""

    def __init__(self, application: Application) -> None:
        self._log = application.log
        self._clock = application.clock
        self._observer = application.workers.failure_detector()
        self._lease_seconds = application.settings.workers.lease_seconds
        self._beats: dict[str, int] = {}
        self._moved_at: dict[str, float] = {}

    def alive(self) -> Sequence[tuple[WorkerRow, float]]:
        """The workers that have not ended, each with the seconds since its heartbeat was seen to move."""
        workers = self._log.workers()
        dead = self._observer.dead(workers)
        now = self._clock.monotonic()
        for worker in workers:
            if self._beats.get(worker.id) != worker.beats:
                self._beats[worker.id] = worker.beats
                self._moved_at[worker.id] = now
        return [(worker, now - self._moved_at[worker.id]) for worker in workers if worker.id not in dead]

    def wait_for_heartbeats(self) -> None:
        """Look until every live worker's heartbeat has moved, for a little more than one takes at most."""
        from hermes_jobs.eventlog.leases import HEARTBEATS_PER_LEASE

        began = {worker.id: worker.beats for worker, _ in self.alive()}
        until = self._clock.monotonic() + BEATS_MISSED * self._lease_seconds / HEARTBEATS_PER_LEASE
        while self._clock.monotonic() < until:
            if all(began.get(worker.id) != worker.beats for worker, _ in self.alive()):
                return
            time.sleep(0.05)


def read_stats(application: Application, names: Sequence[str], watcher: HeartbeatTracker) -> QueueStats:
    """What waits and runs now, by queue and by worker."""
    log, now = application.log, application.clock.now()
    rows = log.steps()
    alive = watcher.alive()
    running = [row.owner for row in rows if row.owner is not None]
    at_work = {worker.id for worker, _ in alive}
    return QueueStats(
        queues=tuple(
            _queue_load(log, [row for row in rows if row.step.lane == name], name, now, at_work)
            for name in names
        ),
        workers=tuple(
            LiveWorker(
                name=worker.id,
                queues=worker.lanes,
                running=running.count(worker.id),
                seen_seconds_ago=round(seen, 1),
            )
            for worker, seen in sorted(alive, key=lambda each: each[0].id)
        ),
    )


def _queue_load(
    log: EventLog, rows: Sequence[StepRow], name: str, now: float, at_work: Collection[str]
) -> QueueLoad:
    idle = [row.step for row in rows if row.owner not in at_work]  # what the dead had begun as well
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
    """When the step became due: its own time, else that of its turn's last event that can have made it so.

    A step's row holds no time. Of tool calls and members, the progress of their siblings does not count.
    """
    from hermes_jobs.domain import events as e

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
    for recorded in reversed(log.read(step.stream, after=max(0, head.version - LOOK_BACK))):
        event = recorded.event
        if getattr(event, "turn", None) == turn and not isinstance(event, (e.OutcomeDiscarded, *siblings)):
            return datetime.fromisoformat(recorded.recorded_at).timestamp()
    return None


def queues_of(worker: LiveWorker) -> str:
    """The queues that a worker consumes, or what it does instead."""
    alone = "none: it wakes due schedules" if worker.name.startswith("beat-") else ALONE
    return ", ".join(worker.queues) or alone


def age(seconds: float | None) -> str:
    """How old a step is, for people; empty for none."""
    return "" if seconds is None else duration(seconds)
