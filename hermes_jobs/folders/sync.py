"""The base of folders whose files are derived from the log: one sync at a time, changes between two syncs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult
from hermes_jobs.kernel.streams.forgetting import KEY_SCOPE, NEWEST
from hermes_jobs.system.file_lock import WAIT_SECONDS, FileLock

logger = logging.getLogger(__name__)

HAND_EDIT = "hand edit"
"""The cause of events that import users' edits of files."""


class SyncedFolder:
    """Base class of folders that `sync` updates from the log. Safe for many threads and processes.

    Every use begins with `sync`: users' edits are appended to the log, then the files are written from
    the log. The file lock `lock` admits one process at a time on each host; the next sync completes
    the work of a process that died. `name` is the folder's, for messages.

    The engine is one without a file sync of its own: its appends are written to the files here.
    """

    def __init__(self, engine: Engine, lock: Path, name: str) -> None:
        self._engine = engine
        self._lock = FileLock(lock, name, seconds=WAIT_SECONDS)
        self._threads = threading.RLock()
        self._logged: set[str] = set()

    def sync(self) -> object:
        """Synchronise log and files; the resulting state of the log. Raises `LogUnavailable`."""
        raise NotImplementedError

    def change(self, change: Decision, cause: str, *, by: str = "") -> DecisionResult:
        """Sync, apply a user's change, and sync again; `by` is who asked for it.

        Raises `Rejected`, `LogUnavailable`.
        """
        self.sync()
        changed = self._engine.change(change, cause, by=by)
        self.sync()
        return changed

    def _forgotten(self) -> int:
        """The position at which the log has last forgotten texts; 0 for never.

        Files that were written before may hold such texts: the log's are written over them, and nothing of
        them is taken in.
        """
        newest = self._engine.log.key(KEY_SCOPE, NEWEST)
        return newest.position if newest is not None else 0

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Admit one thread of one process at a time. Raises `OSError`, `LockTimeout`."""
        with self._threads, self._lock.hold():
            yield

    def _log_once(self, level: int, problem: str) -> None:
        if problem not in self._logged:
            self._logged.add(problem)
            logger.log(level, "%s", problem)
