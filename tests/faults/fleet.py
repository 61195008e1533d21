"""Worker processes that are forked rather than started: a seed of chaos needs many, and soon.

A worker whose log is out of reach while it starts ends with exit code 5, and whoever runs it (`up`, systemd,
compose) starts it again: so does a fleet. Any other end of its own is a finding.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hermes_jobs.interfaces.cli.exit_codes import LOG
from tests.faults.shifted import shift_by
from tests.home import Home

PRELOADED = [
    "workers.cli",
    "hermes_jobs.llm.completions_client",
    "workers.worker",
    "workers.tasks",
    __name__,
]


class Fleet:
    """Worker processes by number, each with a clock of its own."""

    def __init__(self, home: Home, folder: Path) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._home = home
        self._folder = folder
        self._processes: dict[int, Any] = {}

    def start(self, number: int) -> None:
        """Start a worker, in the place of the one that had its number."""
        clock = self._folder / f"clock-{number}"
        clock.touch()
        arguments = (self._home.environ, self._home.work, clock, self._folder / f"worker-{number}.log")
        process = self._context.Process(target=_work, args=arguments)
        process.start()
        self._processes[number] = process

    def signal(self, number: int, which: signal.Signals) -> None:
        """Send it a signal; one that has ended at its start is started again first."""
        self.restart_if_exited(number)
        with suppress(ProcessLookupError):  # ended at this very moment: started again by the next call
            os.kill(self._processes[number].pid, which)

    def restart_if_exited(self, number: int) -> None:
        """Start it again where the log was out of reach at its start; `AssertionError` for any other end."""
        code = self._processes[number].exitcode
        if code is None:
            return
        assert code == LOG, f"worker {number} ended by itself, with exit code {code}"
        self.start(number)

    def kill(self, number: int) -> None:
        """`kill -9` a worker, paused or not."""
        self._processes[number].kill()
        self._processes[number].join()

    def shift(self, number: int, seconds: int) -> None:
        """Let its clock be wrong by so much."""
        (self._folder / f"clock-{number}").write_text(str(seconds))

    def close(self) -> None:
        """End them all."""
        for number in self._processes:
            self.kill(number)


def _work(environ: Mapping[str, str], folder: Path, clock: Path, log: Path) -> None:
    from hermes_jobs.interfaces.cli import main

    for source, target in ((Path(os.devnull), 0), (log, 1), (log, 2)):
        os.dup2(os.open(source, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), target)
    os.setpgid(0, 0)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    shift_by(clock)
    main(["worker", "-c", "8"])
