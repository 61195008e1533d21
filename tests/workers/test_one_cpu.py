"""A busy worker takes a place on one CPU, and leaves it where others crowd it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping

import pytest

from hermes_jobs.runtime.worker_cpu import CpuPinning, Linux, Load

linux_alone = pytest.mark.skipif(sys.platform != "linux", reason="threads are pinned on Linux alone")


class Scripted:
    """Two CPUs whose use a test tells; `place` is where the process is kept."""

    def __init__(self) -> None:
        self.now = Load(0.0, 0.0, {0: 0.0, 1: 0.0})
        self.ran_on = 0
        self.place: int | None = None
        self.broken: Exception | None = None

    def passes(self, own: float, others: Mapping[int, float]) -> None:
        """A second in which the process took so much of its CPU, and others of each."""
        here = self.ran_on if self.place is None else self.place
        used = {cpu: share + (own if cpu == here else 0.0) for cpu, share in others.items()}
        before = self.now.busy
        busy = {cpu: before[cpu] + seconds for cpu, seconds in used.items()}
        self.now = Load(self.now.at + 1.0, self.now.own + own, busy)

    def load(self) -> Load:
        if self.broken is not None:
            raise self.broken
        return self.now

    def last_cpu(self) -> int:
        return self.ran_on

    def pin(self, cpu: int) -> None:
        self.place = cpu

    def unpin(self) -> None:
        self.place = None


@pytest.fixture
def machine() -> Scripted:
    return Scripted()


@pytest.fixture
def mind(machine: Scripted) -> CpuPinning:
    mind = CpuPinning(machine)
    mind.adjust()
    return mind


def test_a_busy_process_stays_where_it_ran(machine: Scripted, mind: CpuPinning) -> None:
    machine.ran_on = 1
    machine.passes(0.6, {0: 0.1, 1: 0.1})
    mind.adjust()
    assert machine.place == 1


def test_an_idle_one_has_no_need_of_a_place(machine: Scripted, mind: CpuPinning) -> None:
    machine.passes(0.05, {0: 0.1, 1: 0.1})
    mind.adjust()
    assert machine.place is None


@pytest.fixture
def seated(machine: Scripted, mind: CpuPinning) -> CpuPinning:
    machine.passes(0.6, {0: 0.0, 1: 0.0})
    mind.adjust()
    assert machine.place == 0
    return mind


@pytest.mark.parametrize(
    ("others", "stays"),
    [
        ({0: 0.2, 1: 0.0}, True),
        ({0: 0.4, 1: 0.1}, False),
        ({0: 0.4, 1: 0.35}, True),
        ({0: 0.4}, True),
    ],
    ids=["little", "crowded", "as crowded elsewhere", "there is no other"],
)
def test_it_leaves_for_more_room_alone(
    machine: Scripted, seated: CpuPinning, others: Mapping[int, float], stays: bool
) -> None:
    machine.passes(0.6, others)
    seated.adjust()
    assert (machine.place == 0) is stays


def test_a_process_that_left_keeps_the_systems_choice(machine: Scripted, seated: CpuPinning) -> None:
    machine.passes(0.5, {0: 0.5, 1: 0.0})
    seated.adjust()
    machine.ran_on = 1
    machine.passes(0.5, {0: 0.5, 1: 0.0})
    seated.adjust()
    assert machine.place == 1


@pytest.mark.parametrize(
    "error", [OSError("there is no /proc"), IndexError("a short line"), ValueError("no number")], ids=repr
)
def test_without_figures_of_the_system_it_decides_alone(
    machine: Scripted, seated: CpuPinning, error: Exception
) -> None:
    machine.broken = error
    seated.adjust()
    assert machine.place is None
    machine.broken = None
    seated.adjust()
    machine.passes(0.6, {0: 0.0, 1: 0.0})
    seated.adjust()
    assert machine.place == 0


@linux_alone
def test_linux_reports_the_use_of_each_cpu() -> None:
    machine = Linux()
    before = machine.load()
    while machine.load().own - before.own < 0.02:
        pass
    after = machine.load()
    assert after.at > before.at
    assert after.busy.keys() <= os.sched_getaffinity(0)
    assert sum(after.busy.values()) > sum(before.busy.values())
    assert machine.last_cpu() in os.sched_getaffinity(0)


PLACED = """
import json, os, threading
from hermes_jobs.system import cpu_affinity
from hermes_jobs.tools.processes import run

class Never:
    reason = None
    def on_cancel(self, callback):
        return lambda: None
    def share_lease(self):
        return None

def places():
    return sorted({tuple(sorted(os.sched_getaffinity(int(each)))) for each in os.listdir("/proc/self/task")})

def of_a_command():
    command = f"{sys.executable} -c 'import os; print(sorted(os.sched_getaffinity(0)))'"
    return json.loads(run(command, cwd="/", env=dict(os.environ), timeout=60, cancel=Never()).output)

import sys
over = threading.Event()
for _ in range(5):
    threading.Thread(target=over.wait).start()
told = {"free": places()}
cpu_affinity.pin(min(os.sched_getaffinity(0)))
threading.Thread(target=over.wait).start()
told |= {"pinned": places(), "command": of_a_command(), "after it": places()}
told["may run on"] = sorted(cpu_affinity.allowed_cpus())
cpu_affinity.unpin()
told |= {"unpinned": places(), "command again": of_a_command()}
over.set()
print(json.dumps(told))
"""


@linux_alone
def test_all_threads_move_and_commands_run_anywhere() -> None:
    ran = subprocess.run([sys.executable, "-c", PLACED], capture_output=True, text=True, check=True)
    told = json.loads(ran.stdout)
    allowed = sorted(os.sched_getaffinity(0))
    free, pinned = [allowed], [[allowed[0]]]
    assert (told["free"], told["unpinned"]) == (free, free)
    assert (told["pinned"], told["after it"]) == (pinned, pinned)
    assert (told["command"], told["command again"], told["may run on"]) == (allowed, allowed, allowed)
