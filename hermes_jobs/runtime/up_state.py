"""The supervisor `up` of a home: at most one, found through its state file.

`run/up.lock` is locked while it runs; `run/up.json` holds its state. The file of a dead supervisor is
ignored.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.settings import Paths
from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.file_lock import is_locked
from hermes_jobs.system.struct_types import described


class UpState(msgspec.Struct, frozen=True, kw_only=True):
    """The supervisor's process id, Flower's address, and whether all processes are ready."""

    pid: int
    flower: str | None = None
    ready: bool = False


class UpLock:
    """A lock held by the supervisor until its process ends."""

    def __init__(self, paths: Paths) -> None:
        """Raises `Rejected` where another supervisor holds the lock."""
        self._state = _state_file(paths)
        self._file = os.open(_lock_file(paths), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise already_up(read_state(paths)) from None

    def publish(self, state: UpState) -> None:
        """Write the state file."""
        write_bytes(self._state, msgspec.json.encode(state), durable=False)

    def release(self) -> None:
        """Release the lock."""
        self._state.unlink(missing_ok=True)
        os.close(self._file)


def read_state(paths: Paths) -> UpState | None:
    """The running supervisor's state; None if none runs, or it has not published its state yet."""
    if not is_running(paths):
        return None
    try:
        return msgspec.json.decode(_state_file(paths).read_bytes(), type=described(UpState))
    except (OSError, msgspec.DecodeError):
        return None


def already_up(state: UpState | None) -> Rejected:
    """The error for a second `up` of a home."""
    pid = f" (process {state.pid})" if state else ""
    return Rejected(
        f"This home is up already{pid}.",
        kind="usage",
        hint="`hermes-jobs down` stops it. Another home (HERMES_JOBS_HOME) can run beside it.",
    )


def is_running(paths: Paths) -> bool:
    """Whether a supervisor is running."""
    return is_locked(_lock_file(paths))


def _lock_file(paths: Paths) -> Path:
    return paths.run / "up.lock"


def _state_file(paths: Paths) -> Path:
    return paths.run / "up.json"
