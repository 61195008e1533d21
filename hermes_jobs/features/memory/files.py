"""MEMORY.md and USER.md of one home: reading them, and replacing one atomically.

A text is written to a temporary file, synced to the disk, and exchanged with the file: the previous content,
even if an editor has just saved it, is then in the temporary file and can be imported. A process that died
may leave two kinds of temporary files: an unfinished one, which is ignored, and a ready one, which has a
file's previous content."""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from hermes_jobs.features.memory.events import MemoryTarget
from hermes_jobs.folders.marks import Mark, mark_file, open_without_atime
from hermes_jobs.system import atomic_file

NAMES: Mapping[MemoryTarget, str] = {"memory": "MEMORY.md", "user": "USER.md"}
MAX_BYTES = 1 << 24
MODE = 0o600
UNFINISHED, READY = ".unfinished", ".ready"
SAVE_WINDOW_NS = 100_000_000  # seconds for which an editor may be about to fill an empty file
MAX_READS = 10  # seconds between two reads of such a file


class UnusableFile(Exception):
    """A file cannot be imported; it stays unchanged. The message is the reason."""


class FileText(msgspec.Struct, frozen=True):
    """A file's content, and its modification time in ns."""

    text: str
    at: int


class MemoryFiles:
    """The files in one folder. Used by one process at a time, while users may edit the files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, target: MemoryTarget) -> FileText | None:
        """The file's content; None if there is no file. Raises `UnusableFile`, `OSError`.

        An editor may empty the file before writing it: a file that was just emptied is read again.
        """
        path = self.path(target)
        text = _read(path)
        for _ in range(MAX_READS):
            if text is None or text.text or not 0 <= time.time_ns() - text.at < SAVE_WINDOW_NS:
                break
            time.sleep(SAVE_WINDOW_NS / MAX_READS / 1e9)
            text = _read(path)
        return text

    def write(self, target: MemoryTarget, text: str) -> Mark | None:
        """Replace the file by the text; the previous content goes to `left_over`. Raises `OSError`.

        None: a file was created meanwhile where there was none, and stays.
        """
        path = self.path(target)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        ready = _write_draft(path, text)
        mark = mark_file(ready)
        with suppress(FileNotFoundError):
            if not atomic_file.atomic_swap(ready, path):
                ready.replace(path)
            _sync(path.parent)
            return mark
        try:
            os.link(ready, path)
        except FileExistsError:
            return None
        finally:
            ready.unlink()
        _sync(path.parent)
        return mark

    def left_over(self, target: MemoryTarget) -> Iterator[FileText]:
        """Contents that were replaced and not imported yet; each is removed after it is
        returned. Raises `OSError`."""
        path = self.path(target)
        for draft in path.parent.glob(f".{path.name}.*"):
            with suppress(UnusableFile):
                text = _read(draft) if draft.suffix == READY else None
                if text is not None:
                    yield text
            if draft.suffix in {UNFINISHED, READY}:
                draft.unlink(missing_ok=True)

    def path(self, target: MemoryTarget) -> Path:
        """The file's path, links resolved; a broken link gives itself."""
        return Path(os.path.realpath(os.path.join(self._folder, NAMES[target])))  # noqa: PTH118 - quicker


def _read(path: Path) -> FileText | None:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnusableFile("it is not a file")
        if status.st_size > MAX_BYTES:
            raise UnusableFile(f"it has {status.st_size:,} bytes, more than {MAX_BYTES:,}")
        with os.fdopen(open_without_atime(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            return FileText(file.read().decode("utf-8"), status.st_mtime_ns)
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise UnusableFile("it is not UTF-8 text") from None


def _write_draft(path: Path, text: str) -> Path:
    """A temporary file with the text, synced to the disk."""
    descriptor, unfinished = tempfile.mkstemp(prefix=f".{path.name}.", suffix=UNFINISHED, dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode("utf-8", "replace"))
        file.flush()
        os.fchmod(descriptor, _mode_of(path))
        os.fsync(descriptor)
    return Path(unfinished).rename(unfinished.removesuffix(UNFINISHED) + READY)


def _mode_of(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return MODE


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
