"""Lock files of the worker processes of this host: a free lock proves that its process has ended.

A file holds a line: the moment until which its process may act, on this host's clock (`moment`; 0: it has
given up); `lock` or `clock`; its process id and its host. With `lock`, a process that runs may act longer,
because nobody takes its steps. Its child processes inherit the open file: they read that line, and hold the
lock until they have ended.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from hermes_jobs.system.file_lock import is_locked
from hermes_jobs.system.process_identity import runs
from hermes_jobs.system.randomness import random_hex

_NAME = "folder-id"
_SUFFIX = ".lock"
_NEVER = 0.0
_LONG_AGO = 1.0


def moment() -> float:
    """Seconds on a clock that all processes of this host share, and that counts while it is suspended."""
    # macOS has no such clock by that name; its monotonic one is shared too.
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class LivenessLocks:
    """A folder with a lock file for each process. The same `id` means the same files."""

    def __init__(self, path: Path) -> None:
        """Makes the folder and its id where they are missing. Raises `OSError`."""
        self._path = path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.id = _read_or_make_id(path / _NAME)

    def hold(self, worker: str) -> LivenessLock:
        """Lock a worker's file. Raises `BlockingIOError` where another process holds it."""
        path = self._file_of(worker)
        while True:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Another process may have removed the file between opening and locking it.
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(file), path.stat()):
                        return LivenessLock(path, file)
            except BaseException:
                os.close(file)
                raise
            os.close(file)

    def is_free(self, worker: str) -> bool:
        """Whether the worker's file is unlocked or missing: the process has ended."""
        return not is_locked(self._file_of(worker))

    def is_at_work(self, worker: str) -> bool:
        """Whether the process of the worker runs, on this host, and has not given up.

        One that is stopped does not run; one that gets no CPU does.
        """
        try:
            until, _, pid, host = self._file_of(worker).read_text().split()
            return float(until) > _NEVER and host == os.uname().nodename and runs(int(pid))
        except (OSError, ValueError):  # it has ended, or is of another build
            return False

    def sweep(self) -> None:
        """Remove the files of processes that have ended."""
        for path in self._path.glob(f"*{_SUFFIX}"):
            if not is_locked(path):
                path.unlink(missing_ok=True)

    def _file_of(self, worker: str) -> Path:
        return self._path / f"{worker}{_SUFFIX}"


class LivenessLock:
    """A locked file; the lock ends with the process and all that it was shared with, however they end."""

    def __init__(self, path: Path, file: int) -> None:
        self._path = path
        self._file = file
        self._lock = threading.Lock()
        self._released = False
        self.allow_until(_LONG_AGO)

    def allow_until(self, until: float, *, by_clock: bool = True) -> None:
        """Write until when the process may act; see `moment`."""
        rule = "clock" if by_clock else "lock "
        os.pwrite(self._file, f"{until:020.6f} {rule} {os.getpid():10} {os.uname().nodename}\n".encode(), 0)

    def give_up(self) -> None:
        """Write that the process does not act any more, unless it is allowed again."""
        self.allow_until(_NEVER)

    def share(self) -> int:
        """A new descriptor of the file, for the caller to close or hand on; once released, one of a file that
        allows nothing."""
        with self._lock:
            return os.open(os.devnull, os.O_RDONLY) if self._released else os.dup(self._file)

    def release(self) -> None:
        """Remove the file and release its lock."""
        with self._lock:
            self._released = True
            self.allow_until(_NEVER)
            self._path.unlink(missing_ok=True)
            os.close(self._file)


def _read_or_make_id(path: Path) -> str:
    """The text of that file; the first caller writes it atomically."""
    while True:
        with suppress(FileNotFoundError):
            return path.read_text()
        draft = path.with_name(f"{path.name}.{random_hex(8)}")
        draft.write_text(random_hex(8))
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
