"""Lock files of the processes that work on this host: a free one proves that its process has ended."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path

from hermes_jobs.eventlog.file_lock import is_locked

_NAME = "folder-id"
_SUFFIX = ".lock"


class LockFolder:
    """A folder with a lock file for each process. Who has the same `id` sees the same files."""

    def __init__(self, path: Path) -> None:
        """Makes the folder and its id where they are missing. Raises `OSError`."""
        self._path = path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.id = _read_or_make_id(path / _NAME)

    def hold(self, worker: str) -> HeldLock:
        """Lock a worker's file. Raises `BlockingIOError` where another process holds it."""
        path = self._file_of(worker)
        while True:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Between opening and locking it somebody may have swept the file away.
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(file), path.stat()):
                        return HeldLock(path, file)
            except BaseException:
                os.close(file)
                raise
            os.close(file)

    def is_free(self, worker: str) -> bool:
        """Whether nobody holds the worker's file, or it is missing: the process has ended."""
        return not is_locked(self._file_of(worker))

    def sweep(self) -> None:
        """Remove the files of processes that have ended."""
        for path in self._path.glob(f"*{_SUFFIX}"):
            if not is_locked(path):
                path.unlink(missing_ok=True)

    def _file_of(self, worker: str) -> Path:
        return self._path / f"{worker}{_SUFFIX}"


class HeldLock:
    """A locked file; the lock ends with the process, however that ends."""

    def __init__(self, path: Path, file: int) -> None:
        self._path = path
        self._file = file

    def release(self) -> None:
        """Remove the file and let go of it."""
        self._path.unlink(missing_ok=True)
        os.close(self._file)


def _read_or_make_id(path: Path) -> str:
    """The text of that file; the first to come writes it, whole or not at all."""
    while True:
        with suppress(FileNotFoundError):
            return path.read_text()
        draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        draft.write_text(secrets.token_hex(8))
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
