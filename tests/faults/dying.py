"""`hermes-jobs send` in a process that kills itself, as `kill -9` does: at its n-th append, or when a fact of
some name is in the log.

before    before the append has begun
within    when all of it is written, before it is committed
after     when it is committed, before the process has heard of it
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.append import PreparedAppend
from hermes_jobs.kernel.log.database import Connection
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import load
from tests.home import Home
from tests.tables import nightly, slow

Moment = Literal["before", "within", "after"]
MOMENTS: tuple[Moment, ...] = ("before", "within", "after")
SAMPLED_MOMENTS = [*slow("within"), *nightly("before", "after")]
"""For what takes long, where other tests kill at every append of the same kind."""
PRELOADED = [
    "hermes_jobs.interfaces.cli.send",
    "hermes_jobs.interfaces.cli.turns.waiter",
    "hermes_jobs.llm.completions_client",
    "hermes_jobs.runtime.inline_worker",
    "tests.faults.preloaded",
]
PATIENCE = 60.0
KILLED = -9  # the exit code of a process that was killed


@contextmanager
def installed(home: Home) -> Iterator[Application]:
    """What the home's settings make, in this process."""
    application = Application(load(home.environ), home.environ)
    try:
        yield application
    finally:
        application.close()


def finish(application: Application) -> None:
    """Another process continues until nothing is left, also with what a dead one had in its hands."""
    with InlineWorker(application) as worker:
        assert worker.work(lambda: not application.log.steps(), seconds=PATIENCE)


class Sends:
    """Starts them quickly: they are forked from a process that has loaded everything."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([*PRELOADED, __name__])

    def run(
        self,
        environ: Mapping[str, str],
        folder: Path,
        arguments: Sequence[str],
        at: int | str,
        moment: Moment,
        *,
        command: Sequence[str] = ("send",),
    ) -> int:
        """Run one, or another `command`, to its end; its exit code, -9 where it was killed."""
        line = [*command, *arguments]
        process = self._context.Process(target=_run, args=(dict(environ), folder, line, at, moment))
        process.start()
        process.join(PATIENCE)
        code = process.exitcode
        process.kill()
        process.join()
        process.close()
        assert code is not None, "it did not end"
        return code


def _run(
    environ: Mapping[str, str], folder: Path, line: Sequence[str], at: int | str, moment: Moment
) -> None:
    from hermes_jobs.interfaces.cli import main

    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    if isinstance(at, str):
        die_after(at)
    else:
        die_at(at, moment)
    main(list(line))


def die_at(at: int, moment: Moment) -> None:
    """Let this process be killed at that moment of its `at`-th append, counted from now."""
    counts = _Counter(at)
    if moment == "within":
        PreparedAppend.execute = counts.killing(PreparedAppend.execute, after=True)  # type: ignore[method-assign]
    else:
        SqlEventLog.append = counts.killing(SqlEventLog.append, after=moment == "after")  # type: ignore[method-assign]


def die_after(fact: str) -> None:
    """Let this process be killed when a fact of that name is committed, before its threads are told of it."""
    written = threading.Event()
    write, tell = PreparedAppend.execute, SqlEventLog._notify_all

    def writing(prepared: PreparedAppend, connection: Connection) -> tuple[RecordedEvent, ...]:
        recorded = write(prepared, connection)
        if any(each.type == fact for each in recorded):
            written.set()
        return recorded

    def telling(log: SqlEventLog) -> None:
        if written.is_set():
            os.kill(os.getpid(), signal.SIGKILL)
        tell(log)

    PreparedAppend.execute = writing  # type: ignore[method-assign, assignment]
    SqlEventLog._notify_all = telling  # type: ignore[method-assign, assignment]


class _Counter:
    """Counts down; where it counts what is over, only what has succeeded."""

    def __init__(self, at: int) -> None:
        self._left = at
        self._lock = threading.Lock()

    def killing(self, method: Callable[..., Any], *, after: bool) -> Callable[..., Any]:
        """The method as it is, until the countdown ends."""

        def counted(*arguments: Any) -> Any:
            if not after:
                self._count()
            result = method(*arguments)
            if after:
                self._count()
            return result

        return counted

    def _count(self) -> None:
        with self._lock:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
