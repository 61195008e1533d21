"""Replaces and removes files atomically, and stores the previous contents in the snapshots."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH120

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.snapshots.store import SnapshotLimits, SnapshotStore, format_size
from hermes_jobs.kernel.events import FileChange, FileState
from hermes_jobs.system.randomness import random_hex

NO_SNAPSHOTS = SnapshotStore(Path(os.devnull), SnapshotLimits(seconds=0))
"""A store that stores nothing."""

PLAIN_MODE = 0o666  # of a new file, less the umask


class Replaced(msgspec.Struct, frozen=True):
    """A completed change, and the previous content; None: no file, or too large to read."""

    change: FileChange
    old: bytes | None


class CurrentFile(msgspec.Struct, frozen=True):
    """A file before a change: its state, and its content if small enough to be stored. All are None if there
    was not a file."""

    status: os.stat_result | None = None
    state: FileState | None = None
    content: bytes | None = None


Planned = Callable[[FileChange], None]
"""Called with a change just before it is made."""


def ignore_change(change: FileChange) -> None:
    """A `Planned` without effect."""


class FileWriter:
    """Writes at real paths, which the caller has checked; refuses a path in which a folder has become a
    link since."""

    def __init__(
        self, store: SnapshotStore, verify: Callable[[int, str], None] = lambda _descriptor, _path: None
    ) -> None:
        """`verify(descriptor, path)` raises if the open folder is not the one at that path."""
        self._store = store
        self._verify = verify

    def replace(
        self,
        real: str,
        content: bytes,
        *,
        mode: int | None = None,
        expected: os.stat_result | None = None,
        planned: Planned = ignore_change,
    ) -> Replaced:
        """Replace the file by the content, synced to the disk; missing folders are created.

        `mode` None: the previous one. `expected` is the file from which the content was made. The previous
        content is stored first. Raises `OSError`; `Rejected` for a special or read-only file (a rename would
        replace it anyway), and if another process changes it meanwhile."""
        folder, name = os.path.split(real)
        new_folders = _missing_folders(folder)
        Path(folder).mkdir(parents=True, exist_ok=True)
        with self._opened(folder) as folder_fd:
            before = self.inspect(real, folder_fd)
            if expected is not None:
                _refuse_changed(before.status, expected, real)
            if before.status is not None and not os.access(name, os.W_OK, dir_fd=folder_fd):
                raise Rejected(f"{real} is read-only: it cannot be written.", kind="read_only")
            if mode is None and before.state is not None:
                mode = before.state.mode
            with _temporary(folder_fd, mode) as (descriptor, temporary):
                state = self._store.store_content(
                    content, stat.S_IMODE(os.fstat(descriptor).st_mode), durable=False
                )
                change = FileChange(path=real, before=before.state, after=state, folders=tuple(new_folders))
                planned(change)
                _write_all(descriptor, content)
                _refuse_changed(_status(name, folder_fd), before.status, real)
                os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
            os.fsync(folder_fd)
        return Replaced(change, before.content)

    def remove(
        self, real: str, folders: tuple[str, ...] = (), *, planned: Planned = ignore_change
    ) -> Replaced:
        """Remove the file, after storing its content, and those of `folders` that are empty then.

        Raises as `replace`.
        """
        folder, name = os.path.split(real)
        with self._opened(folder) as folder_fd:
            before = self.inspect(real, folder_fd)
            change = FileChange(path=real, before=before.state)
            if before.status is not None:
                planned(change)
                _refuse_changed(_status(name, folder_fd), before.status, real)
                os.unlink(name, dir_fd=folder_fd)
                os.fsync(folder_fd)
        for missing_folder in reversed(folders):
            with contextlib.suppress(OSError):
                os.rmdir(missing_folder)  # noqa: PTH106
        return Replaced(change, before.content)

    def inspect(self, real: str, folder_fd: int | None = None) -> CurrentFile:
        """The current file, stored. `folder_fd`: its open folder.

        Raises `OSError`; `Rejected` for a special file.
        """
        folder, name = os.path.split(real)
        if folder_fd is None:
            try:
                with self._opened(folder) as opened:
                    return self.inspect(real, opened)
            except (FileNotFoundError, NotADirectoryError):
                return CurrentFile()
        status = _status(name, folder_fd)
        if status is None:
            return CurrentFile()
        if not stat.S_ISREG(status.st_mode):
            raise Rejected(f"{real} is {_kind(status)}: it cannot be written.", kind="not_a_file")
        content, reason = self._content(name, folder_fd, status)
        mode = stat.S_IMODE(status.st_mode)
        if content is None:
            return CurrentFile(status, FileState(size=status.st_size, mode=mode, not_kept=reason), None)
        return CurrentFile(status, self._store.store_content(content, mode), content)

    def state(self, real: str) -> FileState | None:
        """The file's current state, with its digest of any size; nothing is stored. Raises as
        `look`."""
        folder, name = os.path.split(real)
        try:
            with self._opened(folder) as folder_fd:
                status = _status(name, folder_fd)
                if status is None:
                    return None
                if not stat.S_ISREG(status.st_mode):
                    raise Rejected(f"it is {_kind(status)} now", kind="not_a_file")
                with os.fdopen(_open(name, folder_fd), "rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return FileState(digest=digest, size=status.st_size, mode=stat.S_IMODE(status.st_mode))

    def _content(self, name: str, folder_fd: int, status: os.stat_result) -> tuple[bytes | None, str]:
        """The file's content, or why it is not read."""
        limits = self._store.limits
        if status.st_size > limits.file_bytes:
            return None, format_size(status.st_size)
        try:
            with os.fdopen(_open(name, folder_fd), "rb") as file:
                return file.read(limits.file_bytes + 1), ""
        except OSError as error:
            return None, f"it cannot be read: {error.strerror}"

    @contextlib.contextmanager
    def _opened(self, folder: str) -> Iterator[int]:
        """The folder as a descriptor, so that it stays the checked one."""
        folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            self._verify(folder_fd, folder)
            yield folder_fd
        finally:
            os.close(folder_fd)


@contextlib.contextmanager
def _temporary(folder_fd: int, mode: int | None) -> Iterator[tuple[int, str]]:
    """A new file in the open folder, by descriptor and name; removed on an exception."""
    name = f".{random_hex(8)}.tmp"  # without the file's name, which may have the maximum length
    descriptor = os.open(
        name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PLAIN_MODE, dir_fd=folder_fd
    )
    try:
        if mode is not None:
            os.fchmod(descriptor, mode)
        yield descriptor, name
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder_fd)
        raise
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.fsync(descriptor)


def _missing_folders(folder: str) -> list[str]:
    """The missing folders of the path, outermost first."""
    missing: list[str] = []
    while folder and not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing[::-1]


def _open(name: str, folder_fd: int) -> int:
    """Open for reading, without blocking: opening a pipe would otherwise wait for a writer."""
    return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder_fd)


def _status(name: str, folder_fd: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _kind(status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"


def _refuse_changed(now: os.stat_result | None, expected: os.stat_result | None, real: str) -> None:
    """Raise `Rejected` unless it is still the same, unchanged file."""
    fields = ("st_dev", "st_ino", "st_size", "st_mtime_ns")
    same = now is expected is None or (
        now is not None
        and expected is not None
        and all(getattr(now, field) == getattr(expected, field) for field in fields)
    )
    if not same:
        raise Rejected(f"{real} was changed by somebody else meanwhile. Read it again.", kind="changed")
