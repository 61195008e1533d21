"""Two files exchanged in one step, so that whatever stood in the one's place is not gone but in the other's.

Linux has renameat2(2) with RENAME_EXCHANGE, macOS renamex_np(2) with RENAME_SWAP. Python has neither.
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE, and RENAME_SWAP
_CANNOT = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})


def atomic_swap(one: Path, other: Path) -> bool:
    """Exchange two files of one folder; false where this system or file system cannot.

    Raises `OSError`, `FileNotFoundError` where one of them is not there.
    """
    call = _call()
    if call is None or call(os.fsencode(one), os.fsencode(other)) != 0:
        reason = errno.ENOSYS if call is None else ctypes.get_errno()
        if reason in _CANNOT:
            return False
        raise OSError(reason, os.strerror(reason), str(other))
    return True


@cache
def _call() -> Any:
    system = ctypes.CDLL(None, use_errno=True)
    if hasattr(system, "renameat2"):
        return lambda one, other: system.renameat2(_HERE, one, _HERE, other, _EXCHANGE)
    if hasattr(system, "renamex_np"):
        return lambda one, other: system.renamex_np(one, other, _EXCHANGE)
    return None
