"""A lock on a file, between the processes of one host; it is released when its process ends in any way.

The file holds the holder's process id and host, for messages; SQLite's own locks name theirs, too.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import math
import os
import shlex
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Literal

SHOWN = 80  # characters of a command line
_WRITING = 120  # the byte of the WAL index that a writer locks: https://sqlite.org/walformat.html
_STOPPED = "Tt"


def described(pid: int, host: str = "") -> str:
    """The process with that id, of another host (or container) where one is named."""
    if host and host != os.uname().nodename:
        return f"process {pid} on {host}"
    stopped = f"stopped; `kill -CONT {pid}` lets it continue" if _is_stopped(pid) else ""
    about = "; ".join(filter(None, (_command(pid), stopped)))
    return f"process {pid} ({about})" if about else f"process {pid}"


def sqlite_writer(path: Path) -> int | None:
    """The process that has the write lock of an SQLite file in WAL mode; None where the system does not say.

    Linux alone does, in /proc/locks: https://man7.org/linux/man-pages/man5/proc_locks.5.html
    """
    with suppress(OSError, ValueError):
        index = Path(f"{path}-shm").stat()
        name = f"{os.major(index.st_dev):02x}:{os.minor(index.st_dev):02x}:{index.st_ino}"
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if words[1] == "->" or words[1] != "POSIX" or words[3] != "WRITE" or words[5] != name:
                continue
            if int(words[6]) <= _WRITING <= (int(words[7]) if words[7] != "EOF" else _WRITING):
                return int(words[4])
    return None


def _command(pid: int) -> str:
    """What it runs; empty where that cannot be seen."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
        text = shlex.join(words)
    except OSError:
        text = _by_ps(pid)
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _by_ps(pid: int) -> str:
    """The same on systems without /proc."""
    if Path("/proc/self").exists():
        return ""
    import subprocess

    with suppress(OSError, subprocess.SubprocessError):
        command = ["ps", "-o", "args=", "-p", str(pid)]
        return subprocess.run(command, capture_output=True, text=True, timeout=2, check=False).stdout.strip()
    return ""


def _is_stopped(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in _STOPPED


logger = logging.getLogger(__name__)

NOTIFY_AFTER = 2.0  # seconds of waiting after which the user is notified of the holder
NOTIFY_INTERVAL = 60.0
WAIT_SECONDS = 30.0  # a limit for what others hold for milliseconds
_NOTE = 128  # bytes


@cache
def _note_of(pid: int) -> bytes:
    """What the holder writes into the lock's file."""
    return f"{pid} {os.uname().nodename}".encode()[:_NOTE].ljust(_NOTE)


class LockTimeout(TimeoutError):
    """Another process holds the lock for longer than the caller waits; `holder` describes it for messages."""

    def __init__(self, path: Path, seconds: float, holder: str) -> None:
        super().__init__(errno.ETIMEDOUT, f"{holder} has kept it locked for {seconds:.0f} s", str(path))
        self.seconds = seconds
        self.holder = holder


class FileLock:
    """Between processes, and between two of these on one file; not between threads that share one.

    `purpose` names what is locked, for messages; `notify` is called with one when the wait takes long.
    `seconds`: the longest wait; None: until the lock is free.
    """

    def __init__(
        self,
        path: Path,
        purpose: str = "the lock",
        notify: Callable[[str], None] = logger.warning,
        *,
        seconds: float | None = None,
    ) -> None:
        self._path = path
        self._purpose = purpose
        self._notify = notify
        self._seconds = math.inf if seconds is None else seconds
        self._file: int | None = None
        self._waiter = _Waiter()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Wait for the lock and hold it. Raises `LockTimeout`, `OSError`."""
        file = self.open()
        self._take(file)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    @contextmanager
    def try_hold(self) -> Iterator[bool]:
        """Hold the lock unless another process does; whether it is held. Raises `OSError`."""
        file = self.open()
        if not self._take_if_free(file):
            yield False
            return
        try:
            yield True
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    def open(self) -> int:
        """The lock's file, made where it is missing. Raises `OSError`."""
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return self._file

    def holder(self) -> str:
        """The process that holds it, or held it last, for messages."""
        note = b"" if self._file is None else os.pread(self._file, _NOTE, 0)
        pid, _, host = note.rstrip(b" \n").decode(errors="replace").partition(" ")
        return described(int(pid), host) if pid.isdecimal() else "another process"

    def close(self) -> None:
        """Close the file. The lock cannot be used afterwards."""
        self._waiter.close()
        if self._file is not None:
            os.close(self._file)

    def _take(self, file: int) -> None:
        if not self._take_if_free(file):
            self._wait(file)
        os.pwrite(file, _note_of(os.getpid()), 0)

    def _take_if_free(self, file: int) -> bool:
        if self._waiter.is_waiting:  # it would take the same lock a second time, and release it
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait(self, file: int) -> None:
        """Wait for the holder, with a message after a while. Raises `LockTimeout`."""
        waited, pause = 0.0, min(NOTIFY_AFTER, self._seconds)
        while not self._waiter.take(file, pause):
            waited += pause
            if waited >= self._seconds:
                raise LockTimeout(self._path, self._seconds, self.holder())
            self._notify(f"Waiting for {self._purpose}: {self.holder()} has it.")
            pause = min(NOTIFY_INTERVAL, self._seconds - waited)


class _Waiter:
    """Takes a lock in a thread, because `flock` itself waits without limit.

    | state     | meaning                                                                    |
    |-----------|----------------------------------------------------------------------------|
    | idle      | the thread has no request                                                  |
    | wanted    | it waits in `flock`, and a caller waits for it                             |
    | abandoned | it waits in `flock` without a caller: it releases the lock when it has it  |

    The thread starts with the first wait, and serves all later ones.
    """

    def __init__(self) -> None:
        self._state: Literal["idle", "wanted", "abandoned"] = "idle"
        self._mutex = threading.Lock()
        self._files: SimpleQueue[int | None] = SimpleQueue()
        self._result: SimpleQueue[OSError | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the thread waits in `flock` without a caller."""
        return self._state == "abandoned"

    def take(self, file: int, seconds: float) -> bool:
        """Take the lock within so many seconds; whether it is held then. Raises `OSError`."""
        self._want(file)
        try:
            failed = self._result.get(timeout=seconds)
        except Empty:
            return self._abandon()
        except BaseException:
            if self._abandon():
                fcntl.flock(file, fcntl.LOCK_UN)
            raise
        if failed is not None:
            raise failed
        return True

    def close(self) -> None:
        """End the thread after its current wait."""
        self._files.put(None)

    def _want(self, file: int) -> None:
        with self._mutex:
            was_idle = self._state == "idle"
            self._state = "wanted"
        if was_idle:
            # A duplicate descriptor for the same lock: the other may be closed, and its number reused.
            self._files.put(os.dup(file))
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="file-lock", daemon=True)
            self._thread.start()

    def _abandon(self) -> bool:
        """Wait no more; whether the lock has come all the same."""
        with self._mutex:
            if self._state == "wanted":
                self._state = "abandoned"
                return False
        try:
            return self._result.get_nowait() is None
        except Empty:  # it was taken from the queue when the interrupt came
            return True

    def _serve(self) -> None:
        for file in iter(self._files.get, None):
            failed: OSError | None = None
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
            except OSError as error:
                failed = error
            with self._mutex:
                if self._state == "wanted":
                    self._result.put(failed)
                elif failed is None:
                    fcntl.flock(file, fcntl.LOCK_UN)
                self._state = "idle"
                os.close(file)


def is_locked(path: Path) -> bool:
    """Whether a process holds the file's lock; a missing file has none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two concurrent checks do not take each other for the holder.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
