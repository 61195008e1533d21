"""Commands from a cold start, an idle `up`, a takeover: `python -m tests.benchmarks command_line`.

Baselines of the same run: an interpreter that does nothing, and one that imports the model's client.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT
from statistics import median

import psutil

from hermes_jobs.kernel.events import StepAbandoned
from tests.benchmarks.turns import model_server
from tests.e2e.invariants import facts_of
from tests.faults.crew import Crew, wait_until
from tests.home import Home, endpoint

REPEATS = 7
TAKEOVERS = 5
MB = 2**20


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name, model_server(Path(name)) as base_url:
        home = Home(Path(name), endpoint(base_url))
        print(f"{'median of ' + str(REPEATS):<44}{'ms':>9}")
        show("python that does nothing", lambda: home.launch("this"))
        show("python that imports openai", lambda: home.launch("openai", "--version"))
        show("hermes-jobs --help", lambda: home.start("--help"))
        show("text turn in one process", lambda: home.start("send", "Hello"))
        with home.start("up", "--no-flower") as up, Crew([home]) as crew:
            up.wait_for("hermes-jobs is up")
            show("send --no-wait, workers alive", lambda: home.start("send", "--no-wait", "Hello"))
            show("send, workers alive", lambda: home.start("send", "Hello"))
            crew.finish()
            show_footprint(up.process.pid)
            show_takeovers(crew)
            up.signal(SIGINT)
            up.end()


def show(name: str, start: Callable[[], object]) -> None:
    """One command, from its start to its end."""
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        with start() as running:  # type: ignore[attr-defined]  # a `InFlightSteps`
            running.process.wait()
        times.append((time.perf_counter() - begun) * 1000)
    print(f"{name:<44}{median(times):>9.0f}")


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
