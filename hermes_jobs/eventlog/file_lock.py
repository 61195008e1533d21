"""A lock on a file, between the processes of one host; it ends with its process, however that ends.

Who holds it stands in the file, so that those who wait can say for whom.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes_jobs.eventlog.holder import described

logger = logging.getLogger(__name__)

TOLD_AFTER = 2.0  # seconds of waiting after which people are told for whom
TOLD_AGAIN = 60.0
_NOTE = 128  # bytes


class FileLock:
    """Between processes, and between two of these on one file; not between threads that share one.

    `wanted` is what waits for it, as people call it; `notify` is told when that takes long.
    """

    def __init__(
        self, path: Path, wanted: str = "the lock", notify: Callable[[str], None] = logger.warning
    ) -> None:
        self._path = path
        self._file: int | None = None
        self._patience = _Patience(lambda: notify(f"Waiting for {wanted}: {self.holder()} has it."))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait for the lock, however long another process holds it, and hold it. Raises `OSError`."""
        file = self.open()
        self._take(file)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    @contextmanager
    def held_if_free(self) -> Iterator[bool]:
        """Hold the lock unless another process does; whether it is held. Raises `OSError`."""
        file = self.open()
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
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
        """Who holds it, or was the last to: for people."""
        note = b"" if self._file is None else os.pread(self._file, _NOTE, 0)
        pid, _, host = note.rstrip(b" \n").decode(errors="replace").partition(" ")
        return described(int(pid), host) if pid.isdecimal() else "another process"

    def close(self) -> None:
        """Let go of the file. The lock is not used after."""
        self._patience.close()
        if self._file is not None:
            os.close(self._file)

    def _take(self, file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with self._patience:
                fcntl.flock(file, fcntl.LOCK_EX)
        os.pwrite(file, f"{os.getpid()} {os.uname().nodename}".encode()[:_NOTE].ljust(_NOTE), 0)


class _Patience:
    """Calls when one waits for long. Its thread begins with the first wait, and serves all that follow."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._since = 0.0
        self._waiting = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        self._since = time.monotonic()
        self._waiting.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="patience", daemon=True)
            self._thread.start()

    def __exit__(self, *_error: object) -> None:
        self._since = 0.0

    def close(self) -> None:
        self._closing.set()
        self._waiting.set()

    def _watch(self) -> None:
        told = 0.0  # the beginning of the wait that was told last
        while not self._closing.is_set():
            since = self._since
            if not since:
                self._waiting.clear()
                if not self._since:  # else it has begun between the two
                    self._waiting.wait()
                continue
            again = since == told
            self._closing.wait(TOLD_AGAIN if again else max(0.0, since + TOLD_AFTER - time.monotonic()))
            if self._since == since and not self._closing.is_set():
                self._call()
                told = since


def is_locked(path: Path) -> bool:
    """Whether a process holds the file's lock; a missing file has none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two who look do not take each other for the holder.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
