"""Flower shows the truth about tasks whose worker was killed: what became of them, and which task follows."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from celery.events.state import State

from hermes_jobs.errors import LogUnavailable
from tests.home import Home, endpoint
from tests.model_script import Hold
from tests.model_server import ModelServer
from tests.tools.support import wait_until
from tests.workers.test_up import free_port, live_workers, page, processes_running, up
from workers.lost_tasks import NOT_RUN, LostTasks

GONE = "Abandoned('worker-a is gone')"


def taken_over_by(task: str) -> str:
    return f"Abandoned('worker-a is gone; taken over by task {task}')"


class Cluster:
    """Flower's memory, fed with the events of workers; and the workers that the log lists."""

    def __init__(self) -> None:
        self.state = State()
        self.registered: set[str] | None = set()  # None: the log cannot be reached
        self._lost = LostTasks(self.state, self._listed)
        self._count = 0

    async def _listed(self) -> set[str]:
        if self.registered is None:
            raise LogUnavailable("away")
        return self.registered

    def hear(self, worker: str, kind: str, **fields: Any) -> None:
        """An event, as Celery's receiver passes it on."""
        self._count += 1
        event = {"timestamp": 100.0 + self._count, "clock": self._count, "local_received": None}
        self.state.event({"type": kind, "hostname": f"{worker}@host", **event, **fields})

    def begin(self, worker: str, task: str) -> None:
        self.hear(worker, "task-received", uuid=task)
        self.hear(worker, "task-started", uuid=task)

    def heartbeat(self, worker: str) -> None:
        self.hear(worker, "worker-heartbeat", freq=60, timestamp=time.time(), local_received=time.time())

    def check(self) -> None:
        asyncio.run(self._lost.check())

    def shown(self, task: str) -> tuple[str, str | None]:
        found = self.state.tasks[task]
        return found.state, found.exception


def test_a_task_of_a_killed_worker_has_failed_and_names_the_one_that_follows() -> None:
    cluster = Cluster()
    cluster.begin("worker-a", "t1-2")
    cluster.begin("worker-b", "t1-2~7")
    cluster.registered = {"worker-b"}
    cluster.check()
    assert cluster.shown("t1-2") == ("FAILURE", taken_over_by("t1-2~7"))
    assert cluster.shown("t1-2~7") == ("STARTED", None)


def test_the_task_that_follows_is_named_when_it_begins_later() -> None:
    cluster = Cluster()
    cluster.begin("worker-a", "t1-2")
    cluster.check()
    assert cluster.shown("t1-2") == ("FAILURE", GONE)
    cluster.hear("worker-b", "task-received", uuid="t1-2~7")
    cluster.registered = {"worker-b"}
    cluster.check()
    assert cluster.shown("t1-2") == ("FAILURE", GONE)
    cluster.hear("worker-b", "task-started", uuid="t1-2~7")
    cluster.check()
    assert cluster.shown("t1-2") == ("FAILURE", taken_over_by("t1-2~7"))


def test_each_of_several_killed_attempts_names_the_next_one() -> None:
    cluster = Cluster()
    for worker, task in [("worker-a", "t1-2"), ("worker-a", "t1-2~5"), ("worker-a", "t1-2~3")]:
        cluster.begin(worker, task)
    cluster.check()
    assert [cluster.shown(task) for task in ("t1-2", "t1-2~5", "t1-2~3")] == [
        ("FAILURE", taken_over_by("t1-2~5")),
        ("FAILURE", taken_over_by("t1-2~3")),
        ("FAILURE", GONE),
    ]


def test_a_task_that_its_worker_had_not_begun_is_revoked() -> None:
    cluster = Cluster()
    cluster.hear("worker-a", "task-received", uuid="t1-2")
    cluster.begin("worker-b", "t1-2~7")
    cluster.registered = {"worker-b"}
    cluster.check()
    assert cluster.shown("t1-2") == ("REVOKED", taken_over_by("t1-2~7"))


def test_a_duplicate_that_ran_nothing_does_not_follow() -> None:
    cluster = Cluster()
    cluster.begin("worker-a", "t1-2")
    cluster.begin("worker-b", "t1-2~7")
    cluster.hear("worker-b", "task-succeeded", uuid="t1-2~7", result=NOT_RUN, runtime=0.1)
    cluster.begin("worker-b", "t1-22")
    cluster.registered = {"worker-b"}
    cluster.check()
    assert cluster.shown("t1-2") == ("FAILURE", GONE)


@pytest.mark.parametrize("alive", ["heartbeat", "log", "unknown"])
def test_tasks_of_a_worker_that_may_be_alive_stay(alive: str) -> None:
    """A starved worker sends no heartbeat; one that was declared dead is listed under a new id."""
    cluster = Cluster()
    cluster.begin("worker-a", "t1-2")
    if alive == "heartbeat":
        cluster.heartbeat("worker-a")
    cluster.registered = {"heartbeat": set[str](), "log": {"worker-a"}, "unknown": None}[alive]
    cluster.check()
    assert cluster.shown("t1-2") == ("STARTED", None)


def test_a_worker_that_never_said_its_interval_is_silent_after_ten_seconds() -> None:
    """It was killed before its first heartbeat: only events of its tasks have come."""
    cluster = Cluster()
    for worker, seconds in [("worker-a", 11.0), ("worker-b", 0.0)]:
        heard = time.time() - seconds
        cluster.hear(worker, "task-started", uuid=f"{worker}-1", timestamp=heard, local_received=heard)
    cluster.check()
    assert cluster.shown("worker-a-1") == ("FAILURE", GONE)
    assert cluster.shown("worker-b-1") == ("STARTED", None)


def test_what_a_worker_says_later_wins() -> None:
    cluster = Cluster()
    cluster.begin("worker-a", "t1-2")
    cluster.check()
    cluster.hear("worker-a", "task-succeeded", uuid="t1-2", result="'done'", runtime=0.1)
    cluster.check()
    assert cluster.shown("t1-2")[0] == "SUCCESS"


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer) -> Home:
    return Home(tmp_path, endpoint(model_server.base_url))


class Stage:
    """An `up` with Flower whose worker is in a model call, which the server holds."""

    def __init__(self, home: Home, model_server: ModelServer, port: int) -> None:
        self._home = home
        self._model_server = model_server
        self._port = port
        self.turn = home.send("hello", "--no-wait")["turn"]
        self.task = f"{self.turn}-1"
        wait_until(lambda: self.shown(self.task).get("state") == "STARTED", "the call in Flower")
        [self.worker_id] = live_workers(home)
        [self.worker] = processes_running(home, "hermes_jobs worker")

    def tasks(self) -> dict[str, Any]:
        tasks: dict[str, Any] = msgspec.json.decode(page(f"http://127.0.0.1:{self._port}/api/tasks"))
        return tasks

    def shown(self, task: str) -> Any:
        """What Flower knows of it."""
        return self.tasks().get(task, {})

    def says(self, words: str) -> bool:
        """Whether the call's task shows these words as its exception."""
        return words in str(self.shown(self.task).get("exception"))

    def finish(self) -> None:
        """Let the model answer, and the turn end."""
        self._model_server.release()
        assert self._home.run("turns", "wait", self.turn).code == 0


@contextmanager
def called(home: Home, model_server: ModelServer, **environ: str) -> Iterator[Stage]:
    model_server.follow([Hold()])
    port = free_port()
    with up(home, "--flower-port", str(port), FLOWER_UNAUTHENTICATED_API="true", **environ):
        yield Stage(home, model_server, port)


@pytest.mark.slow
def test_a_step_whose_worker_was_killed_is_a_failure_in_flower(home: Home, model_server: ModelServer) -> None:
    with called(home, model_server) as stage:
        os.kill(stage.worker, signal.SIGKILL)
        wait_until(lambda: stage.says("taken over"), "the end of the call")
        shown = stage.tasks()
        stage.finish()
    killed = shown[stage.task]
    following = killed["exception"].rpartition(" ")[2].removesuffix("')")
    assert killed["state"] == "FAILURE"
    assert killed["exception"] == f"Abandoned('{stage.worker_id} is gone; taken over by task {following}')"
    assert shown[following]["args"] == killed["args"]
    assert shown[following]["worker"] != killed["worker"]


@pytest.mark.slow
def test_a_worker_that_stops_gives_its_step_back_and_flower_shows_a_retry(
    home: Home, model_server: ModelServer
) -> None:
    with called(home, model_server) as stage:
        os.kill(stage.worker, signal.SIGTERM)
        wait_until(lambda: stage.shown(stage.task)["state"] != "STARTED", "the end of the call")
        shown = stage.shown(stage.task)
        stage.finish()
    assert shown["state"] == "RETRY"
    assert shown["exception"] == "Abandoned('given back: another task does the step')"


@pytest.mark.slow
def test_an_answer_after_another_worker_has_taken_over_is_a_failure_that_says_late(
    home: Home, model_server: ModelServer
) -> None:
    short = {"HERMES_JOBS_WORKERS__LEASE_SECONDS": "2"}
    with called(home, model_server, **short) as stage, home.start("run", "worker", **short):
        wait_until(lambda: len(live_workers(home)) > 1, "another worker")
        os.kill(stage.worker, signal.SIGSTOP)
        wait_until(
            lambda: any(task.startswith(f"{stage.task}~") for task in stage.tasks()), "its being taken over"
        )
        os.kill(stage.worker, signal.SIGCONT)
        stage.finish()
        wait_until(lambda: stage.says("too late"), "the end of the late call")
        shown = stage.shown(stage.task)
    assert shown["state"] == "FAILURE"
    command = f"hermes-jobs turns show {stage.turn}"
    late = f"too late: another worker has taken over, or the step was changed ({command})"
    assert shown["exception"] == f"Discarded('{late}')"
