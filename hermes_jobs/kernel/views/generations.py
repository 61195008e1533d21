"""The folder of the views: one file a generation, and the name of the current one.

    views/current              the name of the generation that readers use; replaced atomically
    views/generation-7.db      (with its -wal and -shm)
    views/rebuild.lock         held while a generation is built

A generation is complete before `current` names it. Other files there are left over from a crash.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes_jobs.system.file_lock import FileLock

logger = logging.getLogger(__name__)

POINTER = "current"
LOCK = "rebuild.lock"
SIDE_FILES = ("-wal", "-shm", "-journal")


class Generations:
    """The generations in one folder, which is made when the first is built."""

    def __init__(self, folder: Path, notify: Callable[[str], None] = logger.warning) -> None:
        """`notify` is called with a sentence that names the process that is already building."""
        self.folder = folder
        self._notify = notify

    def current(self) -> Path | None:
        """The generation that readers use; it may be missing or broken. None where none is named."""
        try:
            name = (self.folder / POINTER).read_text(encoding="utf-8", errors="replace").strip()
        except FileNotFoundError:
            return None
        return self.folder / name if _number(self.folder / name) is not None else None

    def all(self) -> list[Path]:
        """Every generation's file, oldest first."""
        files = [path for path in self.folder.glob("generation-*.db") if _number(path) is not None]
        return sorted(files, key=lambda path: _number(path) or 0)

    def next(self) -> Path:
        """The file of a generation newer than all others."""
        numbers = [_number(path) or 0 for path in (*self.all(), self.current()) if path]
        return self.folder / f"generation-{max(numbers, default=0) + 1}.db"

    @contextmanager
    def building(self) -> Iterator[None]:
        """Hold the lock for building and deleting; waits for its holder. A crash releases it."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(self.folder / LOCK, "the views, which are to be built", self._notify)
        try:
            with lock.hold():
                yield
        finally:
            lock.close()

    def switch_to(self, generation: Path) -> None:
        """Make this generation the current one; on disk before this returns."""
        # The file is closed in this process, so that opening it here drops no lock of SQLite's.
        _sync(generation)
        pointer = self.folder / f"{POINTER}.new"
        pointer.write_text(f"{generation.name}\n", encoding="utf-8")
        _sync(pointer)
        pointer.replace(self.folder / POINTER)
        _sync(self.folder)

    def delete_others(self) -> None:
        """Delete every generation but the current one. Readers that have one open continue to use it."""
        current = self.current()
        for generation in self.all():
            if generation != current:
                for suffix in ("", *SIDE_FILES):
                    Path(f"{generation}{suffix}").unlink(missing_ok=True)
        current_name = current.name if current else ""
        for path in self.folder.glob("generation-*"):
            if not current_name or not path.name.startswith(current_name):
                path.unlink(missing_ok=True)


def _number(path: Path) -> int | None:
    number = path.name.removeprefix("generation-").removesuffix(".db")
    return int(number) if number.isdecimal() and path.name == f"generation-{number}.db" else None


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
