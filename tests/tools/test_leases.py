"""Commands under a lease: they begin and continue only while it lasts, and keep its lock until they end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.log.liveness_locks import LivenessLock, LivenessLocks, moment
from hermes_jobs.tools.processes import Completed, run

from .support import Switch, processes_with, wait_until

LONG = 600.0


class Leased(Switch):
    """A `Cancel` under a lease that the test writes."""

    def __init__(self, held: LivenessLock) -> None:
        super().__init__()
        self._held = held

    def share_lease(self) -> int:  # type: ignore[override] # the other one has none
        return self._held.share()


@pytest.fixture
def held(tmp_path: Path) -> Iterator[LivenessLock]:
    held = LivenessLocks(tmp_path / "locks").hold("w-1")
    held.allow_until(moment() + LONG)
    yield held
    held.release()


@pytest.fixture
def command(tmp_path: Path, held: LivenessLock) -> Callable[[str], Completed]:
    def start(text: str) -> Completed:
        env = {"PATH": os.environ["PATH"], "MARK": str(tmp_path)}
        return run(text, cwd=str(tmp_path), env=env, timeout=LONG, cancel=Leased(held))

    return start


def test_a_command_runs_to_its_end_under_a_lease(command: Callable[[str], Completed]) -> None:
    assert command("echo hello; exit 125") == Completed(exit_code=125, output="hello\n")


def test_a_command_neither_sees_the_lock_file_nor_holds_it(command: Callable[[str], Completed]) -> None:
    assert "w-1.lock" not in command("ls -l /proc/$$/fd /proc/self/fd").output


def test_a_command_is_not_begun_once_its_lease_has_run_out(
    command: Callable[[str], Completed], held: LivenessLock, tmp_path: Path
) -> None:
    held.allow_until(moment())
    assert command("touch begun") == Completed(exit_code=None, output="", interrupted=True)
    assert not (tmp_path / "begun").exists()


def test_a_command_is_not_begun_where_the_lock_was_released(
    command: Callable[[str], Completed], tmp_path: Path
) -> None:
    other = LivenessLocks(tmp_path / "others").hold("w-2")
    other.allow_until(moment() + LONG)
    other.release()
    ran = run("touch begun", cwd=str(tmp_path), env={}, timeout=LONG, cancel=Leased(other))
    assert ran.interrupted
    assert not (tmp_path / "begun").exists()


def test_a_command_ends_with_its_lease_even_where_it_does_not_want_to(
    command: Callable[[str], Completed], held: LivenessLock, tmp_path: Path
) -> None:
    held.allow_until(moment() + 0.5)
    ran = command("trap '' TERM; setsid sleep 1000 & echo begun; sleep 1000")
    assert ran == Completed(exit_code=None, output="begun\n", interrupted=True)
    assert processes_with(str(tmp_path)) == []


KILLED = """
import os, sys, threading
from pathlib import Path
from hermes_jobs.kernel.log.liveness_locks import LivenessLocks, moment
from hermes_jobs.tools.processes import run
from tests.tools.test_leases import Leased
held = LivenessLocks(Path(sys.argv[1])).hold("w-3")
held.allow_until(moment() + 600)
run(sys.argv[2], cwd="/", env={}, timeout=600, cancel=Leased(held))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_lock_of_a_killed_worker_is_free_when_nothing_of_its_commands_is_left(tmp_path: Path) -> None:
    folder = LivenessLocks(tmp_path / "locks")
    begun = tmp_path / "begun"
    text = f"trap '' TERM; touch {begun}; sleep 1000"
    worker = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "locks"), text], cwd=Path(__file__).parents[2]
    )
    wait_until(begun.exists, "the command")
    assert not folder.is_free("w-3")
    worker.kill()
    worker.wait()
    wait_until(lambda: folder.is_free("w-3"), "the lock")
    assert processes_with(str(begun)) == []


class Fresh:
    """A lease as the engine knows it."""

    def __init__(self) -> None:
        self.fresh = True

    def is_fresh(self) -> bool:
        return self.fresh

    def share(self) -> int:
        raise AssertionError("not wanted")


def test_an_act_is_lost_for_good_once_its_lease_was_seen_to_have_run_out() -> None:
    lease = Fresh()
    token = CancelToken(lease)
    told: list[str] = []
    token.on_cancel(lambda: told.append("stop"))
    assert token.reason is None
    lease.fresh = False
    assert str(token.reason) == "lost"
    assert told == ["stop"]
    lease.fresh = True
    assert token.reason == "lost"
