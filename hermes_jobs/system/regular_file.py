"""Reads files of a working folder, whose commands may have put a pipe, a device or a huge file there."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader


def opened(path: str) -> BufferedReader:
    """The regular file at a path, without waiting for a writer. Raises `OSError`, also for any other kind."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", path)  # noqa: TRY301
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def beginning(path: str, limit: int, *, errors: str = "replace") -> str:
    """The text in its first `limit` bytes, with the line ends of Unix. Raises `OSError`."""
    with opened(path) as file:
        text = file.read(limit).decode("utf-8", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")
