"""Atomic writes: a reader, or a process that starts after a crash, finds the old file or the new one."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

from hermes_jobs.system.randomness import random_hex

OWNER_ONLY = 0o600

_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE, and RENAME_SWAP
_CANNOT = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})


@contextmanager
def atomic_write(path: Path, *, durable: bool = True, keep_mode: bool = False) -> Iterator[IO[bytes]]:
    """Yield a temporary file beside `path`, which replaces it at the end; after an exception no file is left.

    A symbolic link stays: the file that it points to is replaced. The new file has mode 600, or with
    `keep_mode` that of the file it replaces. `durable`: it is on the disk before it replaces the old one.
    The folder must exist. Raises `OSError`.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{random_hex(8)}.tmp")  # `path` may be as long as a name can be
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWNER_ONLY)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            if keep_mode and target.exists():
                os.fchmod(descriptor, target.stat().st_mode & 0o7777)
            if durable:
                os.fsync(descriptor)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes, *, durable: bool = True, keep_mode: bool = False) -> None:
    """Write a whole file by `atomic_write`, with its options. Raises `OSError`."""
    with atomic_write(path, durable=durable, keep_mode=keep_mode) as file:
        file.write(content)


def atomic_swap(one: Path, other: Path) -> bool:
    """Exchange two files of one folder in one step; false where the system or the file system cannot.

    Linux has renameat2(2) with RENAME_EXCHANGE, macOS renamex_np(2) with RENAME_SWAP; Python has neither.
    Raises `OSError`, `FileNotFoundError` where one of them is missing.
    """
    import ctypes  # imported here, because most commands only read

    call = _call()
    if call is None or call(os.fsencode(one), os.fsencode(other)) != 0:
        reason = errno.ENOSYS if call is None else ctypes.get_errno()
        if reason in _CANNOT:
            return False
        raise OSError(reason, os.strerror(reason), str(other))
    return True


@cache
def _call() -> Any:
    import ctypes

    system = ctypes.CDLL(None, use_errno=True)
    if hasattr(system, "renameat2"):
        return lambda one, other: system.renameat2(_HERE, one, _HERE, other, _EXCHANGE)
    if hasattr(system, "renamex_np"):
        return lambda one, other: system.renamex_np(one, other, _EXCHANGE)
    return None
