"""Where the file tools may go: inside the roots, never to the home's secrets and databases."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH115, PTH116, PTH118, PTH206

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from hermes_jobs.tools.tool import ToolFailed

READABLE = ("results", "skills")
PRIVATE = (".env", "config.yaml", "views")
PRIVATE_PREFIX = "events.db"  # with its -wal, -shm, -journal and lock files
PRIVATE_FILES = (".env", "config.yaml", "events.db", "events.db-wal", "events.db-shm")


@dataclass(frozen=True, kw_only=True)
class Roots:
    """`roots` null: the session's working folder. `home` is hermes-jobs' own, `user_home` is `~`."""

    home: str
    user_home: str
    roots: tuple[str, ...] | None = None

    def to_read(self, path: str, workdir: str) -> str:
        """The real path of a file that may be read. Raises `ToolFailed`."""
        home = os.path.realpath(self.home)
        return self._checked(path, workdir, tuple(os.path.join(home, each) for each in READABLE))

    def to_write(self, path: str, workdir: str) -> str:
        """The real path of a file that may be written; it need not exist. Raises `ToolFailed`."""
        return self._checked(path, workdir, ())

    def _checked(self, path: str, workdir: str, besides: tuple[str, ...]) -> str:
        if not path or "\0" in path:
            raise ToolFailed("the path is empty or holds a NUL character.")
        real = os.path.realpath(self._absolute(path, workdir))
        roots = self.real_roots(workdir)
        if not any(is_inside(real, root) for root in (*roots, *besides)):
            through = (
                "" if real == os.path.normpath(self._absolute(path, workdir)) else f" (it leads to {real})"
            )
            raise ToolFailed(
                f"{path}{through} is outside the folders that files may be used in: {', '.join(roots)}. "
                "Use a path inside them."
            )
        if self.is_private(real):
            raise ToolFailed(
                f"{path} belongs to hermes-jobs itself (settings, secrets, databases): it is off limits."
            )
        return real

    def is_private(self, real: str) -> bool:
        """Whether a real path is one of the home's files that no tool may touch, under whatever name."""
        home = os.path.realpath(self.home)
        if is_inside(real, home) and real != home:
            first = os.path.relpath(real, home).split(os.sep)[0]
            if first in PRIVATE or first.startswith(PRIVATE_PREFIX):
                return True
        # By inode too, for hard links. By stat alone: to open and close a database of SQLite drops its locks.
        return _identity(real) in set(_identities(home))

    def _absolute(self, path: str, workdir: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = self.user_home + path[1:]
        return os.path.join(workdir, path)

    def real_roots(self, workdir: str) -> tuple[str, ...]:
        """The folders that may be used in a session, as real paths."""
        named = (workdir,) if self.roots is None else self.roots
        return tuple(os.path.realpath(self._absolute(each, workdir)) for each in named)


def is_inside(path: str, folder: str) -> bool:
    """Whether a normal absolute path is the folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _identities(home: str) -> Iterator[tuple[int, int]]:
    for name in PRIVATE_FILES:
        identity = _identity(os.path.join(home, name))
        if identity is not None:
            yield identity


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def verify_opened(descriptor: int, expected: str) -> None:
    """Raise `ToolFailed` unless the open file is the one at that real path.

    Between checking a path and opening it, a folder on the way may have been replaced by a symbolic link.
    """
    opened = _path_of(descriptor)
    if opened is not None and opened not in (expected, f"{expected} (deleted)"):
        raise ToolFailed(f"{expected} was replaced by a link to {opened} while it was opened: refused.")


def _path_of(descriptor: int) -> str | None:
    """Where an open file lies, as the system knows it; null where it cannot be asked."""
    if sys.platform == "darwin":
        import fcntl

        return os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None
