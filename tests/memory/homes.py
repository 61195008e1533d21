"""Homes with a memory on a log, in this process and in others."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.memory.events import MemoryTarget
from hermes_jobs.features.memory.memory_files import SyncedMemory
from hermes_jobs.features.memory.rules.memory import Limits
from hermes_jobs.features.memory.rules.writes import MemoryAction, Operation, Origin, Write
from hermes_jobs.kernel.log.append import PreparedAppend
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.settings import load
from hermes_jobs.system import atomic_file

ROOMY = Limits(memory=1_000_000, user=1_000_000)
PATIENCE = 60.0


@contextmanager
def installed(folder: Path, log_url: str) -> Iterator[Application]:
    """The home in that folder, on that log."""
    environ = {"HERMES_JOBS_HOME": str(folder), "HERMES_JOBS_LOG_URL": log_url, "HOME": str(folder)}
    application = Application(load(environ), environ)
    try:
        yield application
    finally:
        application.close()


@contextmanager
def remembering(folder: Path, log_url: str) -> Iterator[SyncedMemory]:
    """The memory of the home in that folder, on that log."""
    with installed(folder, log_url) as application:
        yield application.memory


def write(
    home: SyncedMemory,
    content: str | None,
    *,
    action: MemoryAction = "add",
    old_text: str | None = None,
    target: MemoryTarget = "memory",
) -> None:
    """A person's write."""
    operation = Operation(action=action, target=target, content=content, old_text=old_text)
    home.change(Write([operation], Origin("user"), ROOMY), "test")


def in_processes(job: Callable[[Path, str, int], None], folder: Path, log_url: str, count: int) -> None:
    """Run the job in so many processes at once."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        for done in [pool.submit(job, folder, log_url, number) for number in range(count)]:
            done.result()


def write_many(folder: Path, log_url: str, number: int) -> None:
    """Write six entries; the first process also edits the file in between, as an editor does."""
    with remembering(folder, log_url) as home:
        for count in range(6):
            write(home, f"entry {number}.{count}")
            if number == 0 and count == 3:
                edited = folder / "edited"
                edited.write_text((folder / "memories" / "MEMORY.md").read_text() + "§\nby hand\n")
                edited.replace(folder / "memories" / "MEMORY.md")


def killed_at(moment: str, folder: Path, log_url: str) -> int:
    """The exit code of a process that writes one entry and dies by `kill -9` at that moment of it."""
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_write_and_die, args=(moment, folder, log_url))
    process.start()
    process.join(PATIENCE)
    code = process.exitcode
    process.kill()
    process.join()
    assert code is not None, "it did not end"
    return code


def _write_and_die(moment: str, folder: Path, log_url: str) -> None:
    with remembering(folder, log_url) as home:
        home.sync()
        MOMENTS[moment]()
        write(home, "The entry")


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _before(owner: object, name: str) -> Callable[[], None]:
    def arrange() -> None:
        method = getattr(owner, name)

        def dying(*arguments: object, **named: object) -> object:
            _die()
            return method(*arguments, **named)

        setattr(owner, name, dying)

    return arrange


def _after(owner: object, name: str) -> Callable[[], None]:
    def arrange() -> None:
        method = getattr(owner, name)

        def dying(*arguments: object, **named: object) -> object:
            method(*arguments, **named)
            _die()
            raise AssertionError

        setattr(owner, name, dying)

    return arrange


MOMENTS: dict[str, Callable[[], None]] = {
    "before the append": _before(SqlEventLog, "append"),
    "before the commit": _after(PreparedAppend, "execute"),
    "after the commit": _after(SqlEventLog, "append"),
    "before the file is on disk": _before(os, "fsync"),
    "before the file is in its place": _before(atomic_file, "atomic_swap"),
    "after the file is in its place": _after(atomic_file, "atomic_swap"),
}
