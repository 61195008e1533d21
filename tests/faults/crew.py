"""Workers as processes of their own over one log and one broker, and the load that they are given."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from signal import SIGKILL
from threading import Event

import psutil

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel.events import Opening, TurnSubmitted
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.settings import load
from tests.home import Home, Running

PATIENCE = 100.0  # seconds for a load to be done; the longest interval at which the relay sends again is 30
TAIL = 6000  # characters of a worker's log that a failed test shows


class Crew:
    """Up to so many workers, by number; and the test's own way to the log. All ends with the `with`."""

    def __init__(self, homes: Sequence[Home]) -> None:
        self.threads = 8
        self._homes = homes
        self._workers: dict[int, Running] = {}
        self._past: list[Running] = []
        self.accepted: list[str] = []
        self.texts: list[str] = []
        self.application = Application(load(homes[0].environ), homes[0].environ)
        self._engine = self.application.engine()

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        for number, worker in self._workers.items():
            if kind is not None:
                sys.stderr.write(f"\n--- worker {number}\n{worker.err[-TAIL:]}")
        with ExitStack() as stack:
            stack.callback(self.application.close)
            for worker in (*self._workers.values(), *self._past):
                stack.push(worker)

    @property
    def log(self) -> EventLog:
        """The log that all work on."""
        return self.application.log

    # --- workers --------------------------------------------------------------------------------

    def start(
        self, number: int, *, module: str = "hermes_jobs", before: Sequence[str] = (), **environ: str
    ) -> Running:
        """Start a worker, in the home of its number; it is not up yet.

        `module` may be a launcher of the tests' own, which takes the words `before` the command line.
        """
        home = self._homes[number % len(self._homes)]
        worker = home.launch(module, *before, "worker", "-c", str(self.threads), **environ)
        if number in self._workers:
            self._past.append(self._workers[number])
        self._workers[number] = worker
        return worker

    def start_one(
        self, number: int, *, module: str = "hermes_jobs", before: Sequence[str] = (), **environ: str
    ) -> Running:
        """Start a worker and wait until it has entered itself among the workers."""
        known = self.names()
        worker = self.start(number, module=module, before=before, **environ)
        wait_until(lambda: bool(self.names() - known), "a worker among the workers")
        return worker

    def kill(self, number: int) -> None:
        """`kill -9` a worker."""
        process = self._workers[number].process
        process.send_signal(SIGKILL)
        process.wait()

    def processes(self) -> list[psutil.Process]:
        """Those that run."""
        return [psutil.Process(worker.process.pid) for worker in self._workers.values()]

    def names(self) -> set[str]:
        """The ids of the workers that the log knows."""
        return {worker.id for worker in self.log.workers() if worker.queues}

    # --- load -----------------------------------------------------------------------------------

    def submit(self, text: str, session: str | None = None) -> str:
        """Have a text accepted, in a session of its own or an old one; the turn's id."""
        name = self.application.ids.name
        command = TurnSubmitted(
            turn=name("t"),
            session=session or name("s"),
            text=text,
            source="test",
            attended=False,
            opening=None if session else Opening(workdir=str(self._homes[0].work)),
        )
        turn = self._engine.submit(command).turn
        self.accepted.append(turn)
        self.texts.append(text)
        return turn

    def let_happen(self, events: int) -> None:
        """Wait until so many more events stand in the log, or everything is done."""
        until = self.log.last_position() + events
        wait_until(
            lambda: self.log.last_position() >= until or not self.log.steps(),
            lambda: f"{until - self.log.last_position()} of {events} events, with {self.log.steps()} due",
        )

    def finish(self) -> None:
        """Wait until nothing is left to do."""
        wait_until(lambda: not self.log.steps(), lambda: f"the end of {self.log.steps()}")


def wait_until(condition: Callable[[], bool], what: str | Callable[[], str]) -> None:
    """Return as soon as the condition holds; fail when even a slow machine would have got there."""
    give_up = time.monotonic() + PATIENCE
    pause = Event()
    while not condition():
        assert time.monotonic() < give_up, f"waited in vain for {what if isinstance(what, str) else what()}"
        pause.wait(0.02)
