"""Tasks whose worker is gone: Celery hears nothing of their end, and would show them as running for ever.

Flower knows which tasks its workers began, and the log which workers there are. A worker is gone that the log
no longer lists and from which no heartbeat comes: a process that was declared dead and lives on under a new
id still sends them.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

from celery import states
from celery.events.state import State, Task, Worker, heartbeat_expires
from kombu.utils.encoding import safe_repr

from hermes_jobs.errors import LogUnavailable
from workers.tasks import RESULTS, Abandoned
from workers.worker_events import HEARTBEAT_EVERY

CHECK_SECONDS = 2.0
NOT_RUN = safe_repr(RESULTS["not_due"])
"""The result, as an event has it, of a task that left its step to another one."""


Registered = Callable[[], Awaitable[Collection[str]]]
"""Gives the ids of the workers that the log lists. May raise `LogUnavailable`."""


class LostTasks:
    """Ends, in Flower's memory, the tasks of workers that are gone, and names those that do their steps."""

    def __init__(self, state: State, registered: Registered) -> None:
        self._state = state
        self._registered = registered
        self._unnamed: set[str] = set()  # tasks that were ended before another one had begun

    async def check(self) -> None:
        """Do it once. Call it from the thread of Flower's loop."""
        silent = [task for task in self._tasks() if _is_open(task) and _is_silent(task.worker)]
        if not silent and not self._unnamed:
            return
        try:
            alive = await self._registered()
        except LogUnavailable:
            return
        steps = by_step(self._tasks())
        for task in silent:
            if _is_open(task) and worker_of(task) not in alive:
                self._end(task, steps)
        self._name(steps)

    def _tasks(self) -> list[Task]:
        return list(self._state.tasks.data.values())

    def _end(self, task: Task, steps: Mapping[str, list[Task]]) -> None:
        following = following_task(task, steps)
        self._state.event(
            {
                # what had begun has failed; what only waited for a thread will not run
                "type": "task-failed" if task.state == states.STARTED else "task-revoked",
                "uuid": task.uuid,
                "hostname": task.worker.hostname,
                "timestamp": time.time(),
                "local_received": None,  # else it would count as a sign of life
                "clock": task.clock,
                "exception": reason(task, following),
            }
        )
        if following is None:
            self._unnamed.add(task.uuid)

    def _name(self, steps: Mapping[str, list[Task]]) -> None:
        """Name the tasks that have begun since for those that were ended before."""
        for uuid in sorted(self._unnamed):
            task = self._state.tasks.data.get(uuid)
            following = following_task(task, steps) if task is not None else None
            if following is not None:
                task.exception = reason(task, following)
            if task is None or following is not None:
                self._unnamed.discard(uuid)


def worker_of(task: Task) -> str:
    """The id that the worker had in the log when its Celery worker began."""
    return str(task.worker.hostname).partition("@")[0]


def step_of(uuid: str) -> str:
    """The id of the step that the task was sent for."""
    return uuid.partition("~")[0]


def by_step(tasks: Iterable[Task]) -> dict[str, list[Task]]:
    """The tasks that have begun to run a step, by the step's id, first come first."""
    begun: dict[str, list[Task]] = {}
    for task in sorted((each for each in tasks if each.started), key=lambda each: each.started):
        begun.setdefault(step_of(task.uuid), []).append(task)
    return begun


def following_task(task: Task, steps: Mapping[str, list[Task]]) -> Task | None:
    """The first task that has begun the same step after this one, and did not leave it to another."""
    since = task.started or task.received or 0.0
    later = (each for each in steps.get(step_of(task.uuid), ()) if each.started > since)
    return next((each for each in later if each.uuid != task.uuid and each.result != NOT_RUN), None)


def reason(task: Task, following: Task | None) -> str:
    """What Flower shows as the task's exception."""
    gone = f"{worker_of(task)} is gone"
    text = gone if following is None else f"{gone}; taken over by task {following.uuid}"
    return repr(Abandoned(text))


def _is_silent(worker: Worker) -> bool:
    """Whether no sign of life came for two intervals.

    Celery takes an interval for a minute until a worker's first heartbeat has said how long it is, and a
    worker may be killed before that.
    """
    heard = worker.heartbeats
    return not heard or time.time() > heartbeat_expires(heard[-1], freq=HEARTBEAT_EVERY)


def _is_open(task: Task) -> bool:
    return task.state in {states.RECEIVED, states.STARTED} and task.worker is not None
