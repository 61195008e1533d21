"""A lock on a file, between the processes of one host; it ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FileLock:
    """Between processes, and between two of these on one file; not between threads that share one."""

    def __init__(self, path: Path) -> None:
        """Makes the file where it is missing. Raises `OSError`."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait for the lock, however long another process holds it, and hold it."""
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file. The lock is not used after."""
        os.close(self._file)
