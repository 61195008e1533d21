"""The C library's allocator in a process with many threads, on glibc; elsewhere the function has no effect.

glibc gives threads arenas of their own, eight for each CPU, and each keeps what was freed in it. What many
threads held for a moment then stays with the process many times over.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

_M_ARENA_MAX = -8  # malloc.h


def limit_arenas(most: int) -> None:
    """Limit all threads to so many arenas. Call it before they are started."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, most)
