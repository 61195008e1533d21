"""The C library's allocator: what it keeps of memory that is free."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def return_free_memory() -> None:
    """Return the free pages of glibc's arenas to the system; without effect elsewhere.

    glibc returns only those at an arena's end: after large requests a few small objects keep the rest.
    """
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
