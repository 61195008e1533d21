"""Workers whose broker or whose `up` is gone: they hold nobody up, and none stays without who keeps it."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from hermes_jobs.runtime.broker_address import find_server
from tests.faults.crew import Crew, wait_until
from tests.faults.redis_server import RedisServer
from tests.home import Home, endpoint
from tests.model_server import ModelServer
from tests.workers.test_up import left_of, processes_running, up

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer) -> Iterator[Home]:
    """A home of which nothing runs after the test."""
    home = Home(tmp_path, endpoint(model_server.base_url))
    yield home
    for process in left_of(home):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def test_a_worker_without_its_broker_leaves_the_relay_to_another_one(home: Home, tmp_path: Path) -> None:
    brokers = [RedisServer(find_server(), tmp_path) for _ in range(2)]
    with brokers[0], brokers[1], Crew([home]) as crew:
        names = []
        for number, broker in enumerate(brokers):
            known = crew.names()
            crew.start_one(number, HERMES_JOBS_BROKER_URL=broker.url)
            names.append((crew.names() - known).pop())
        elected = names.index(min(names))
        brokers[elected].kill()
        turn = crew.submit("hello")
        crew.finish()
        assert home.run("turns", "wait", turn).code == 0
        told = f"{names[elected]} does not reach its broker"
        wait_until(lambda: told in " ".join(home.run("doctor").out.split()), "what doctor says")
        brokers[elected].start()
        wait_until(lambda: "does not reach its broker" not in home.run("doctor").out, "its broker again")


def test_a_stopped_worker_whose_guard_is_killed_ends(home: Home) -> None:
    with up(home, "--no-flower"):
        [worker] = processes_running(home, "hermes_jobs worker")
        guard = psutil.Process(worker).parent()
        assert guard is not None
        os.kill(worker, signal.SIGSTOP)
        guard.kill()
        wait_until(lambda: worker not in processes_running(home, "hermes_jobs worker"), "its end")
        wait_until(lambda: bool(processes_running(home, "hermes_jobs worker")), "the worker that follows")


@pytest.mark.parametrize(("word", "shown"), [("worker", "worker"), ("beat", "scheduler")])
def test_a_process_that_hears_only_sighup_ends(home: Home, word: str, shown: str) -> None:
    with up(home, "--no-flower") as running:
        [process] = processes_running(home, f"hermes_jobs {word}")
        os.kill(process, signal.SIGHUP)
        running.wait_for(f"The {shown} has ended")
        wait_until(
            lambda: processes_running(home, f"hermes_jobs {word}") not in ([], [process]), "the next one"
        )


def test_nothing_outlives_a_supervisor_whose_terminal_goes(home: Home) -> None:
    terminal, its_end = pty.openpty()
    command = [sys.executable, "-m", "hermes_jobs", "up", "--no-flower"]
    process = subprocess.Popen(
        ["setsid", "--ctty", *command],
        env=home.environ,
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
        cwd=home.work,
    )
    os.close(its_end)
    said = b""
    while b"hermes-jobs is up" not in said:
        said += os.read(terminal, 4096)
    os.close(terminal)
    wait_until(lambda: left_of(home) == [], lambda: f"the end of {left_of(home)}")
    process.wait()
