"""Which `up` holds a home: one at most, and where the others find it.

`run/up.lock` is locked as long as it lives; `run/up.json` says who it is. The file of a dead one is not read.
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


class UpState(msgspec.Struct, frozen=True, kw_only=True):
    """The supervisor's process id, Flower's address, and whether everything has come up."""

    pid: int
    flower: str | None = None
    ready: bool = False


class UpLock:
    """Held by the supervisor from its start to its end, however that comes."""

    def __init__(self, paths: Paths) -> None:
        """Raises `Rejected` where another one holds the home."""
        self._state = _state_file(paths)
        self._file = os.open(_lock_file(paths), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise already_up(read_state(paths)) from None

    def publish(self, state: UpState) -> None:
        """Let others know."""
        write_bytes(self._state, msgspec.json.encode(state), durable=False)

    def release(self) -> None:
        """Give the home free."""
        self._state.unlink(missing_ok=True)
        os.close(self._file)


def read_state(paths: Paths) -> UpState | None:
    """Who holds the home; None where nobody does, or has not said so yet."""
    if not is_held(paths):
        return None
    try:
        return msgspec.json.decode(_state_file(paths).read_bytes(), type=UpState)
    except (OSError, msgspec.DecodeError):
        return None


def already_up(state: UpState | None) -> Rejected:
    """What `up` is told where another one holds the home."""
    pid = f" (process {state.pid})" if state else ""
    return Rejected(
        f"This home is up already{pid}.",
        kind="usage",
        hint="`hermes-jobs down` stops it. Another home (HERMES_JOBS_HOME) can run beside it.",
    )


def is_held(paths: Paths) -> bool:
    """Whether a supervisor lives."""
    return is_locked(_lock_file(paths))


def _lock_file(paths: Paths) -> Path:
    return paths.run / "up.lock"


def _state_file(paths: Paths) -> Path:
    return paths.run / "up.json"
