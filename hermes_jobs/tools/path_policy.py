"""Which files tools may use: inside the roots; never the home; keys and startup files only when approved."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH112, PTH115, PTH116, PTH118, PTH120

from __future__ import annotations

import os
import re
import stat
import sys
import time
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hermes_jobs.kernel.engine.ports import ToolContext, Verdict
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.sensitive_paths import (
    KINDS,
    Kind,
    instructs,
    kind_of,
    makes_repository,
    runs_in_project,
    secret_places,
    startup_places,
)
from hermes_jobs.tools.tool import ALLOW, ToolFailed, ToolRefused

READABLE = ("results", "skills")
"""Readable folders of the home; only their own tools write there."""

MAX_LINKED = 5_000  # the most files searched for a hard link's other name
LINKED_SECONDS = 2.0
RULES: Mapping[tuple[Kind, bool], str] = {
    ("secret", False): "reading keys or passwords",
    ("secret", True): "changing keys or passwords",
    ("project secret", False): "reading keys or passwords",
    ("startup", True): "writing files that run by themselves",
}
"""The rule that needs approval, by kind and whether the file is written."""
INSTRUCTING = "writing instructions for later turns, after reading what others wrote"
"""The rule for files of a project that later prompts have."""


@dataclass(frozen=True, kw_only=True)
class PathPolicy:
    """`roots` None: the session's working folder. `home` is hermes-jobs' own, `user_home` is `~`."""

    home: str
    user_home: str
    roots: tuple[str, ...] | None = None

    def to_read(self, path: str, workdir: str) -> str:
        """The real path of a file that may be read. Raises `ToolFailed`."""
        home = os.path.realpath(self.home)
        return self._checked(path, workdir, tuple(os.path.join(home, name) for name in READABLE))

    def to_write(self, path: str, workdir: str) -> str:
        """The real path of a file that may be written; it need not exist. Raises `ToolFailed`."""
        return self._checked(path, workdir, ())

    def _checked(self, path: str, workdir: str, besides: tuple[str, ...]) -> str:
        if not path or "\0" in path:
            raise ToolFailed("the path is empty or holds a NUL character.")
        real = self.real(path, workdir)
        roots = self.real_roots(workdir)
        if not any(is_inside(real, root) for root in (*roots, *besides)):
            through = (
                "" if real == os.path.normpath(self._absolute(path, workdir)) else f" (it leads to {real})"
            )
            raise ToolRefused(
                f"{path}{through} is outside the folders that files may be used in: {', '.join(roots)}. "
                "Use a path inside them."
            )
        if self.is_private(real) or (
            self._in_home(real) and not any(is_inside(real, one) for one in besides)
        ):
            raise ToolRefused(
                f"{path} belongs to hermes-jobs itself (settings, secrets, databases, memory, skills): it is "
                "off limits for file tools. Memory, skills and schedules have tools of their own."
            )
        return real

    def real(self, path: str, workdir: str) -> str:
        """The real path of a path of the model."""
        return os.path.realpath(_as_stored(self._absolute(path, workdir)))

    def _in_home(self, real: str) -> bool:
        # Case-insensitive: some file systems are.
        return is_inside(real.casefold(), _real(self.home).casefold())

    def is_private(self, real: str) -> bool:
        """Whether a real path is in the home, where no tool may read; includes hard links."""
        home = _real(self.home)
        if self._in_home(real) and not any(is_inside(real, os.path.join(home, name)) for name in READABLE):
            return real != home
        return self._linked(real) == "private"

    def kind(self, real: str) -> Kind | None:
        """The protection of a file under any of its names (including hard links); None if unprotected."""
        return kind_of(real, self.user_home) or next(
            (kind for kind in KINDS if kind == self._linked(real)), None
        )

    def kind_written(self, real: str) -> Kind | None:
        """The protection of a file that is to be written: also what makes a repository of a folder, and what
        settings of git name."""
        kind = self.kind(real)
        if kind == "project secret":
            return "startup" if runs_in_project(real.casefold()) else kind
        runs = kind is None and (makes_repository(real) or self._is_named(real))
        return "startup" if runs else kind

    def _is_named(self, real: str) -> bool:
        """Whether it is a hook or a file with settings by settings of the person or a repository, or by a
        link of a guarded name."""
        from hermes_jobs.tools.git_named import is_led_to, named_in  # which need this module
        from hermes_jobs.tools.git_places import git_folder

        above = map(str, Path(real).parents)
        repositories = [git for folder in above if (git := git_folder(folder))]
        return is_led_to(real) or real in named_in((os.path.dirname(real),), repositories, self.user_home)

    def _linked(self, real: str) -> str | None:
        """The protection of a file by another of its names; None for a file with one name."""
        try:
            status = os.stat(real, follow_symlinks=False)
        except (OSError, ValueError):
            return None
        if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
            return None
        linkable = _linkable(self.home, self.user_home, int(time.monotonic() / LINKED_SECONDS))
        return linkable.get((status.st_dev, status.st_ino))

    def verdict(self, path: str, context: ToolContext, *, writes: bool) -> Verdict:
        """Whether a call may use the file: keys, startup files, and instructions where what
        others wrote was read, need approval."""
        if not path or "\0" in path:
            return ALLOW
        real = self.real(path, context.workdir)
        kind = self.kind_written(real) if writes else self.kind(real)
        rule = None if kind is None else RULES.get((kind, writes))
        if rule is None and writes and context.outside:
            rule = INSTRUCTING if instructs(real) else None
        if rule is None:
            return ALLOW
        if context.attended:
            return Verdict("ask", rule)
        return Verdict("deny", f"{rule}, and nobody can be asked in this turn")

    def check_approved(self, real: str, context: ToolContext, *, writes: bool) -> None:
        """Raise `ToolRefused` for a protected file without approval.

        A link in the path may have changed after `verdict`.
        """
        kind = self.kind_written(real) if writes else self.kind(real)
        if kind is not None and (kind, writes) in RULES and not context.approved:
            raise ToolRefused(f"{real}: {RULES[kind, writes]} was not approved.")

    def _absolute(self, path: str, workdir: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = self.user_home + path[1:]
        return os.path.join(workdir, path)

    def real_roots(self, workdir: str) -> tuple[str, ...]:
        """The folders that may be used in a session, as real paths."""
        roots = (workdir,) if self.roots is None else self.roots
        return tuple(os.path.realpath(self._absolute(root, workdir)) for root in roots)


def _as_stored(path: str) -> str:
    """The path with the names that there are where its own differ from them in no way that is seen.

    Linux tells `é` as one character from `é` as two, and a plain blank from the narrow one that macOS writes
    in names of screenshots; models and people do not.
    """
    if (path.isascii() and " " not in path) or os.path.lexists(path):
        return path
    folder = os.sep
    for name in Path(path).parts:
        is_there = os.path.lexists(os.path.join(folder, name))
        folder = os.path.join(folder, name if is_there else _same_name(folder, name))
    return folder


def _same_name(folder: str, name: str) -> str:
    if name.isascii() and " " not in name:
        return name
    seen = _seen(name)
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return name
    return next((other for other in names if _seen(other) == seen), name)


def _seen(name: str) -> str:
    """A name as it looks: composed, with plain blanks."""
    return re.sub(r"\s", " ", unicodedata.normalize("NFC", name))


@lru_cache(maxsize=64)
def _real(folder: str) -> str:
    """The real path of a folder, cached for this process."""
    return os.path.realpath(folder)


@lru_cache(maxsize=8)
def _linkable(home: str, user_home: str, moment: int) -> Mapping[tuple[int, int], str]:  # noqa: ARG001
    """By device and inode, the files that must not be reached by another name; cached for each `moment`.

    By stat only: to open and close a database of SQLite drops its locks.
    """
    linkable: dict[tuple[int, int], str] = {}
    readable = {os.path.join(home, name) for name in READABLE}
    places_by_kind = [
        ("startup", startup_places(user_home)),
        ("secret", secret_places(user_home)),
        ("private", iter((home,))),
    ]
    for kind, places in places_by_kind:
        for place in places:
            for path in _files(place, readable):
                identity = _identity(path)
                if identity is not None:
                    linkable[identity] = kind
    return linkable


def _files(place: str, apart: set[str]) -> Iterator[str]:
    """The files at or below a path, at most `MAX_LINKED`."""
    if not os.path.isdir(place):
        yield place
        return
    count = 0
    for folder, folders, files in os.walk(place):
        folders[:] = [subfolder for subfolder in folders if os.path.join(folder, subfolder) not in apart]
        for name in files:
            count += 1
            if count > MAX_LINKED:
                return
            yield os.path.join(folder, name)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def open_verified(real: str) -> int:
    """A descriptor for reading the file at a checked real path. Raises `OSError`; `ToolFailed` for a link.

    Without blocking: opening a pipe would otherwise wait for a writer.
    """
    descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        verify_opened(descriptor, real)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def verify_opened(descriptor: int, expected: str) -> None:
    """Raise `ToolFailed` unless the open file is the one at that real path.

    Between checking a path and opening it, a folder in it may have been replaced by a symbolic link.
    """
    opened = _path_of(descriptor)
    if opened is not None and opened not in (expected, f"{expected} (deleted)"):
        raise ToolFailed(f"{expected} was replaced by a link to {opened} while it was opened: refused.")


def _path_of(descriptor: int) -> str | None:
    """The kernel's path of an open file; None on systems without it."""
    if sys.platform == "darwin":
        import fcntl

        return os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None
