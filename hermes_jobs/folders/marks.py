"""Whether a file was read since it was written, by its access time.

A new file gets an access time before its modification time, so that the first read moves it, also under Linux
with `relatime` (https://man7.org/linux/man-pages/man8/mount.8.html). Where reads leave no trace
(`noatime`, systems without `O_NOATIME`, an empty file) the answer is unknown.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

ACCESS_OFFSET_NS = 1_000_000_000  # by which the access time is set before the modification time
_NO_ATIME = getattr(os, "O_NOATIME", 0)


class Mark(msgspec.Struct, frozen=True):
    """A file as it was written: modification time in ns, inode, and the access time that was set.

    `accessed` 0: reads cannot be detected.
    """

    at: int
    inode: int = 0
    accessed: int = 0


def open_without_atime(path: Path | str, flags: int) -> int:
    """Open a file for reading without changing its access time; if that is impossible, normally.

    Raises `OSError`.
    """
    if _NO_ATIME:
        with suppress(PermissionError):  # the file is another user's
            return os.open(path, flags | _NO_ATIME)
    return os.open(path, flags)


def mark_file(draft: Path) -> Mark:
    """Mark a file that was written and is not in its place yet. Raises `OSError`."""
    status = draft.stat()
    accessed = status.st_mtime_ns - ACCESS_OFFSET_NS
    if not _NO_ATIME or not status.st_size:
        return Mark(status.st_mtime_ns)
    times = (accessed, status.st_mtime_ns)
    os.utime(draft, ns=times)
    with draft.open("rb") as file:
        file.read(1)
    if draft.stat().st_atime_ns == accessed:
        return Mark(status.st_mtime_ns)
    os.utime(draft, ns=times)
    return Mark(status.st_mtime_ns, status.st_ino, accessed)


class WitnessFiles:
    """A second link to each written file, to find it again after an editor has replaced it. Only on the file
    system of the files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, path: Path) -> None:
        """Link the file at the path."""
        append_hook = self._of(path)
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            append_hook.unlink(missing_ok=True)
            os.link(path, append_hook)

    def drop(self, path: Path) -> None:
        """Remove the link of the file at the path."""
        with suppress(OSError):
            self._of(path).unlink(missing_ok=True)

    def drop_all(self) -> None:
        """Remove all links, also unknown ones."""
        with suppress(OSError):
            for link in self._folder.iterdir():
                if not link.suffix:
                    link.unlink(missing_ok=True)

    def is_unread(self, path: Path, mark: Mark) -> bool:
        """Whether the file written at the path was certainly not read since."""
        return bool(mark.accessed) and any(
            status.st_atime_ns == mark.accessed
            for status in _statuses((path, self._of(path)))
            if status.st_ino == mark.inode
        )

    def _of(self, path: Path) -> Path:
        return self._folder / sha256(os.fsencode(path)).hexdigest()[:32]


def _statuses(paths: Iterable[Path]) -> Iterable[os.stat_result]:
    for path in paths:
        with suppress(OSError):
            yield path.stat()
