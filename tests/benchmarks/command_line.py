"""Commands from a cold start, an idle `up`, a takeover: `python -m tests.benchmarks command_line`.

Each command is started as a shell starts it: a new interpreter that has imported nothing. Baselines of the
same run: an interpreter that does nothing, one that imports the library of command lines, and one that
imports the model's client. CPU time stands beside the clock's: on a busy machine the one says what the other
would be.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from signal import SIGINT
from statistics import median

import psutil

from hermes_jobs.kernel.events import StepAbandoned
from tests.benchmarks.lines import Line
from tests.benchmarks.turns import model_server
from tests.e2e.invariants import facts_of
from tests.faults.crew import Crew, wait_until
from tests.home import Home, endpoint

REPEATS = 7
TAKEOVERS = 5
MB = 2**20
COMMAND = str(Path(sysconfig.get_path("scripts")) / "hermes-jobs")


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name, model_server(Path(name)) as base_url:
        home = Home(Path(name), endpoint(base_url))
        print(f"{'median of ' + str(REPEATS):<44}{'CPU ms':>9}{'clock ms':>10}{'interpreters':>14}")
        show = Table(home).show
        show("python -c pass", sys.executable, "-c", "pass")
        show("python -c 'import click'", sys.executable, "-c", "import click")
        show("python -c 'import openai'", sys.executable, "-c", "import openai")
        show("hermes-jobs --help", COMMAND, "--help")
        show("text turn in one process", COMMAND, "send", "Hello")
        with home.start("up", "--no-flower") as up, Crew([home]) as crew:
            up.wait_for("hermes-jobs is up")
            show("send --no-wait, workers alive", COMMAND, "send", "--no-wait", "Hello")
            show("send, workers alive", COMMAND, "send", "Hello")
            crew.finish()
            show_footprint(up.process.pid)
            show_takeovers(crew)
            up.signal(SIGINT)
            up.end()


def lines(folder: Path, base_url: str) -> Iterator[Line]:
    """CPU time of commands, each in a new interpreter: on a busy machine the clock's says little."""
    home = Home(folder, endpoint(base_url))
    table = Table(home)
    bare, client = table.cpu(sys.executable, "-c", "pass"), table.cpu(sys.executable, "-c", "import openai")
    beside, of_client = "an interpreter that does nothing", "one that imports the model's client"
    yield Line("--help, CPU", table.cpu(COMMAND, "--help"), beside, bare)
    yield Line("send, in one process, CPU", table.cpu(COMMAND, "send", "Hello"), of_client, client)
    with home.start("up", "--no-flower") as up:
        up.wait_for("hermes-jobs is up")
        yield Line("send --no-wait, CPU", table.cpu(COMMAND, "send", "--no-wait", "Hello"), beside, bare)
        up.signal(SIGINT)
        up.end()


class Table:
    """Prints a line for each command; the first one is the unit."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._unit = 0.0

    def show(self, name: str, *command: str) -> None:
        """Run it to its end, `REPEATS` times."""
        times = [self._run(*command) for _ in range(REPEATS)]
        cpu, clock = (median(each) * 1000 for each in zip(*times, strict=True))
        self._unit = self._unit or cpu
        print(f"{name:<44}{cpu:>9.0f}{clock:>10.0f}{cpu / self._unit:>14.1f}", flush=True)

    def cpu(self, *command: str) -> float:
        """Milliseconds, the median."""
        return median(self._run(*command)[0] for _ in range(REPEATS)) * 1000

    def _run(self, *command: str) -> tuple[float, float]:
        """Seconds of CPU time, and by the clock."""
        begun = time.perf_counter()
        process = subprocess.Popen(
            command,
            env=self._home.environ,
            cwd=self._home.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, command
        return used.ru_utime + used.ru_stime, time.perf_counter() - begun


def show_footprint(pid: int) -> None:
    """What the idle `up` and everything under it hold of the memory, their shared pages counted once."""
    up = psutil.Process(pid)
    family = [up, *up.children(recursive=True)]
    held = sum(process.memory_full_info().pss for process in family)
    print(f"{'idle up without Flower, PSS':<44}{held / MB:>9.0f} MB in {len(family)} processes")


def show_takeovers(crew: Crew) -> None:
    """From the `kill -9` of a worker in the middle of a model call to the event that gives its step away."""
    times = []
    for number in range(TAKEOVERS):
        crew.start_one(number)
    for number in range(TAKEOVERS):
        known = abandoned(crew)
        for _ in range(24):
            crew.submit("two slow calls")
        wait_until(lambda: any(row.owner for row in crew.log.steps()), "a claimed step")
        begun = time.perf_counter()
        crew.kill(number)
        while abandoned(crew) == known and crew.log.steps():
            time.sleep(0.01)
        if abandoned(crew) > known:
            times.append(time.perf_counter() - begun)
        crew.finish()
    print(f"{'takeover after kill -9, same host':<44}{median(times) * 1000 if times else 0:>9.0f}")


def abandoned(crew: Crew) -> int:
    """How many steps were taken from the dead so far."""
    return sum(isinstance(fact, StepAbandoned) for fact in facts_of(crew.log))


if __name__ == "__main__":
    main()
