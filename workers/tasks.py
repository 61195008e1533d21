"""The Celery tasks: each has one step's id, and runs the step if it is due in the log."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from celery import Celery, Task
from celery.exceptions import Retry

from hermes_jobs.kernel.engine.claims import StepResult
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.turns.session import is_session
from hermes_jobs.kernel.turns.steps import QUEUES_BY_KIND, Step, StepKind
from hermes_jobs.runtime.maintenance import MaintenanceThread
from hermes_jobs.runtime.worker_lease import WorkerLease
from workers.description import command_for, failure_of, waiting_for
from workers.dispatch import CeleryDispatcher

RESERVED_THREADS = 8  # threads that model calls and tools cannot take
LONG: tuple[StepKind, ...] = ("turn.call_model", "turn.reference", "turn.run_tool")


class ConcurrencyLimits:
    """Counts running steps per kind. A step over its kind's limit waits until one of that kind has ended."""

    def __init__(self, concurrency: int) -> None:
        long_ones = max(1, concurrency - min(RESERVED_THREADS, concurrency // 4))
        self._caps: dict[StepKind, int] = dict.fromkeys(LONG, long_ones)
        self._num_running: Counter[StepKind] = Counter()
        self._deferred: dict[StepKind, deque[Step]] = {}
        self._lock = threading.Lock()

    def enter(self, step: Step) -> bool:
        """Whether the step may run; if so, `leave` must follow."""
        with self._lock:
            if self._num_running[step.kind] >= self._caps.get(step.kind, self._num_running[step.kind] + 1):
                self._deferred.setdefault(step.kind, deque()).append(step)
                return False
            self._num_running[step.kind] += 1
            return True

    def leave(self, step: Step, *, held_up: bool = False) -> Step | None:
        """The step has ended; returns the stored step to send in its place, if any.

        A step that was `held_up` by others of its kind has not run: it is stored, and frees nothing.
        """
        with self._lock:
            self._num_running[step.kind] -= 1
            deferred = self._deferred.setdefault(step.kind, deque())
            if held_up:
                deferred.append(step)
                return None
            return deferred.popleft() if deferred else None


MAX_CACHED_STREAMS = 10_000  # turns whose stream a process caches


RESULTS: dict[StepResult, str] = {
    "done": "done",
    "reported_error": "done: the tool reported an error, which the model reads",
    "not_due": "not run: not due, or claimed by another worker",
    "not_yet": "not due yet",
    "other_worker": "left to a process that has a key or an address which this worker lacks",
    "held_up": "waits for budget that other calls have reserved",
}
"""What Flower shows as a task's result."""


class StepFailed(Exception):
    """An attempt of a step has failed: Flower shows that state, with the error's kind and its first line."""


class Discarded(Exception):
    """An attempt has come to its end after another worker had taken its step over: FAILURE in Flower."""


class Abandoned(Retry):
    """An attempt has ended without an outcome: RETRY in Flower, or FAILURE if its worker was killed."""

    def __repr__(self) -> str:
        return f"Abandoned({self.message!r})"


class TaskRunner:
    """Runs the tasks of a worker process. `open` until the process begins to stop."""

    def __init__(
        self,
        engine: Engine,
        dispatcher: CeleryDispatcher,
        maintenance: MaintenanceThread,
        lease: WorkerLease,
        concurrency: int,
        redact: Callable[[str], str] = str,
    ) -> None:
        """`redact` removes known secrets from the errors that Flower shows."""
        self._redact = redact
        self.engine = engine
        self.dispatcher = dispatcher
        self.maintenance = maintenance
        self._lease = lease
        self.open = True
        self._caps = ConcurrencyLimits(concurrency)
        self._streams: dict[str, str] = {}

    def run(self, task: Task, step_id: str) -> str:
        """Run a step if it is due, unclaimed and within its kind's limit; else end the task's chain.

        Returns what came of it, in words. Raises `StepFailed` if its recorded outcome is a failure,
        `Discarded` if its outcome came too late, `Abandoned` if it has none.
        """
        stream = self._stream_of(step_id) if self.open and self._lease.is_valid else None
        step = Step(id=step_id, stream=stream or "", kind=task.name)
        performed: StepResult = "not_due" if stream is None else self._run_step(task, step)
        if performed not in {"done", "reported_error"}:
            task.request.chain = None
        match performed:
            case "failed":
                raise StepFailed(self._failure(step))
            case "discarded":
                command = command_for(self.engine, step.stream, step.id)
                raise Discarded(
                    f"too late: another worker has taken over, or the step was changed ({command})"
                )
            case "abandoned":
                raise Abandoned("given back: another task does the step")
            case "done":
                state = self.engine.sessions.cached(step.stream)
                return waiting_for(state, step_id) or RESULTS[performed]
        return RESULTS[performed]

    def _failure(self, step: Step) -> str:
        text = failure_of(self.engine, step.stream, step.id, self._redact)
        return f"{text or 'it failed'} ({command_for(self.engine, step.stream, step.id)})"

    def _run_step(self, task: Task, step: Step) -> StepResult:
        if not self._caps.enter(step):
            return "not_due"
        performed: StepResult = "not_due"
        try:
            with self.dispatcher.task_context(task):
                performed = self.engine.run(step.stream, step.id)
            self.dispatcher.describe_next(task, step)
        finally:
            following = self._caps.leave(step, held_up=performed == "held_up")
            if following is not None:
                self.dispatcher.send_again([following])
        return performed

    def _stream_of(self, step_id: str) -> str | None:
        """The stream of a step, queried from the log once per turn; None if the step is not due.

        Only turns are remembered: the first part of their steps' ids is unique. `verify-v1-plan` and
        `verify-v2-plan` are steps of two streams.
        """
        turn = step_id.split("-", 1)[0]
        stream = self._streams.get(turn)
        if stream is not None:
            return stream
        row = self.engine.log.step(step_id)
        if row is None:
            return None
        if is_session(row.step.stream):
            self._streams[turn] = row.step.stream
            if len(self._streams) > MAX_CACHED_STREAMS:
                self._streams.pop(next(iter(self._streams)))
        return row.step.stream


def register(app: Celery, runner: TaskRunner) -> None:
    """Register the tasks, which `runner` runs, with the application."""
    for kind in QUEUES_BY_KIND:
        _register_step(app, kind, runner)

    @app.task(name="recovery.sweep")
    def sweep() -> None:
        """Reclaim steps of dead workers and send unclaimed steps, as every worker also does by itself."""
        runner.maintenance.reclaim()


def _register_step(app: Celery, kind: str, runner: TaskRunner) -> None:
    @app.task(name=kind, bind=True, throws=(StepFailed, Discarded))
    def step(self: Any, step_id: str) -> str:
        return runner.run(self, step_id)
