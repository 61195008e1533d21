"""Modes and owners of hidden files, which Landlock cannot keep a command from changing: undone afterwards.

What was opened to more people, or given to somebody else, gets the mode and the owner that it had.
"""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH101, PTH118, PTH208

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

import msgspec

MAX_FILES = 2000


class Mode(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Of one file or folder. Its path is bytes, since names may have any."""

    path: bytes
    inode: int
    mode: int
    owner: int
    group: int


def modes_of(places: Iterable[str]) -> tuple[Mode, ...]:
    """Those of the places and of what lies directly in them, the nearest first."""
    return tuple(islice(_modes_of(dict.fromkeys(places)), MAX_FILES))


def put_back(before: Sequence[Mode]) -> tuple[str, ...]:
    """Undo what was done to them; returns the paths concerned."""
    return tuple(os.fsdecode(was.path) for was in before if _put_back(was))


def _modes_of(places: Iterable[str]) -> Iterator[Mode]:
    for place in places:
        with suppress(OSError):
            yield _mode(place)
        with suppress(OSError):
            yield from [_mode(os.path.join(place, name)) for name in sorted(os.listdir(place))]


def _mode(path: str) -> Mode:
    found = os.lstat(path)
    return Mode(
        path=os.fsencode(path), inode=found.st_ino, mode=found.st_mode, owner=found.st_uid, group=found.st_gid
    )


def _put_back(was: Mode) -> bool:
    with suppress(OSError):
        descriptor = os.open(was.path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            now = os.fstat(descriptor)
            is_given = (now.st_uid, now.st_gid) != (was.owner, was.group)
            if now.st_ino != was.inode or stat.S_ISLNK(now.st_mode):
                return False
            if not (is_given or now.st_mode & ~was.mode):
                return False
            path = f"/proc/self/fd/{descriptor}"
            if is_given:
                os.chown(path, was.owner, was.group)
            os.chmod(path, stat.S_IMODE(was.mode))
        finally:
            os.close(descriptor)
        return True
    return False
