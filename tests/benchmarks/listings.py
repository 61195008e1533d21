"""What a home of many turns answers how fast: `python -m tests.benchmarks listings`.

Each command is a process. The baseline is one that imports SQLAlchemy and does nothing, most of what a short
command does. CPU time stands beside the clock's: on a busy machine the one says what the other would be.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from tests.html.months import BEGAN, Months
from tests.processes import ROOT

TURNS = 10_000
REPEATS = 5
SINCE = f"--since {BEGAN:%Y-%m-%d}"
COMMANDS = (
    "turns list",
    "turns show t005000x",
    "sessions list",
    "sessions search invoice",
    "usage",
    "usage --by session",
    "schedule list",
    "reviews list",
    "inbox list",
    "memory log",
    "queues --json",
    f"report {SINCE}",
    f"report {SINCE} --html report.html",
    "turns show t005000x --html turn.html",
)


def main(turns: int = TURNS) -> None:
    """Print the table: the best of `REPEATS` runs each."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        log = open_log(sqlite_url(home / "events.db"))
        Months(turns).write(log)
        print(f"{turns:,} turns, {log.last_position():,} events\n")
        log.close()
        began = time.perf_counter()
        ran(Path(folder), "-m", "hermes_jobs", "turns", "list")
        print(f"{'the first look, which makes the views':<52}{time.perf_counter() - began:8.1f} s\n")
        print(f"{'command':<52}{'CPU ms':>8}{'clock ms':>10}")
        show(Path(folder), "(import sqlalchemy)", "-c", "import sqlalchemy")
        for command in COMMANDS:
            show(Path(folder), command, "-m", "hermes_jobs", *command.split())


def show(folder: Path, name: str, *arguments: str) -> None:
    """One line."""
    cpu, clock = (min(each) for each in zip(*(ran(folder, *arguments) for _ in range(REPEATS)), strict=True))
    print(f"{name:<52}{cpu * 1000:8.0f}{clock * 1000:10.0f}", flush=True)


def ran(folder: Path, *arguments: str) -> tuple[float, float]:
    """Run it once: seconds of CPU time, and by the clock."""
    environ = {**os.environ, "HERMES_JOBS_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environ, check=True, capture_output=True, timeout=300
    )
    clock, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS)
