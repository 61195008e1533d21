"""Flower shows the truth about tasks whose worker was killed: what became of them, and which task follows."""

from __future__ import annotations

import asyncio
import os
import signal
import time
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

GONE = "WorkerLost: worker-a is gone"


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
    assert cluster.shown("t1-2") == ("FAILURE", f"{GONE}; taken over by task t1-2~7")
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
    assert cluster.shown("t1-2") == ("FAILURE", f"{GONE}; taken over by task t1-2~7")


def test_each_of_several_killed_attempts_names_the_next_one() -> None:
    cluster = Cluster()
    for worker, task in [("worker-a", "t1-2"), ("worker-a", "t1-2~5"), ("worker-a", "t1-2~3")]:
        cluster.begin(worker, task)
    cluster.check()
    assert [cluster.shown(task) for task in ("t1-2", "t1-2~5", "t1-2~3")] == [
        ("FAILURE", f"{GONE}; taken over by task t1-2~5"),
        ("FAILURE", f"{GONE}; taken over by task t1-2~3"),
        ("FAILURE", GONE),
    ]


def test_a_task_that_its_worker_had_not_begun_is_revoked() -> None:
    cluster = Cluster()
    cluster.hear("worker-a", "task-received", uuid="t1-2")
    cluster.begin("worker-b", "t1-2~7")
    cluster.registered = {"worker-b"}
    cluster.check()
    assert cluster.shown("t1-2") == ("REVOKED", f"{GONE}; taken over by task t1-2~7")


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


@pytest.mark.slow
def test_a_step_whose_worker_was_killed_is_a_failure_in_flower(home: Home, model_server: ModelServer) -> None:
    model_server.follow([Hold()])
    port = free_port()
    with up(home, "--flower-port", str(port), FLOWER_UNAUTHENTICATED_API="true"):

        def tasks() -> dict[str, Any]:
            shown: dict[str, Any] = msgspec.json.decode(page(f"http://127.0.0.1:{port}/api/tasks"))
            return shown

        turn = home.send("hello", "--no-wait")["turn"]
        task = f"{turn}-1"
        wait_until(lambda: tasks().get(task, {}).get("state") == "STARTED", "the call in Flower")
        [killed] = live_workers(home)
        [worker] = processes_running(home, "hermes_jobs worker")
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: "taken over" in str(tasks()[task]["exception"]), "the end of the call")
        shown = tasks()
        model_server.release()
        assert home.run("turns", "wait", turn).code == 0

    following = shown[task]["exception"].rpartition(" ")[2]
    assert shown[task]["state"] == "FAILURE"
    assert shown[task]["exception"] == f"WorkerLost: {killed} is gone; taken over by task {following}"
    assert shown[following]["args"] == shown[task]["args"]
    assert shown[following]["worker"] != shown[task]["worker"]
