"""CPU affinity of this process's threads, on Linux; on other systems the functions have no effect.

Threads and child processes inherit the affinity of the thread that starts them: children are started
within `without_affinity`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_THREADS = "/proc/self/task"

_lock = threading.Lock()
_free: set[int] = set()  # the CPUs that a pinned process had before; empty where it is not pinned


def allowed_cpus() -> frozenset[int]:
    """The CPUs where this process may run; where it was pinned, those from before that."""
    if sys.platform != "linux":
        return frozenset()
    with _lock:
        return frozenset(_free or os.sched_getaffinity(0))


def pin(cpu: int) -> None:
    """Keep all threads on that CPU, those made later too. Raises `OSError` where they may not run there."""
    if sys.platform != "linux":
        raise OSError("threads can be pinned on Linux alone")
    with _lock:
        before = _free or os.sched_getaffinity(0)
        os.sched_setaffinity(0, {cpu})
        _place({cpu})
        _free.update(before)


def unpin() -> None:
    """Undo `pin` for all threads."""
    if sys.platform != "linux":
        return
    with _lock:
        if _free:
            _place(_free)
        _free.clear()


@contextmanager
def without_affinity() -> Iterator[None]:
    """Within it, processes that this thread starts have the affinity from before `pin`."""
    if sys.platform != "linux":
        yield
        return
    if not _free:
        yield
        return
    with _lock:
        pinned = os.sched_getaffinity(0)
        _move(0, _free or pinned)
        try:
            yield
        finally:
            _move(0, pinned)


def _place(cpus: set[int]) -> None:
    """Move every thread; threads that were started meanwhile are found in the next round."""
    moved: set[str] = set()
    while others := set(os.listdir(_THREADS)) - moved:  # noqa: PTH208 - names of threads, no paths
        for thread in others:
            _move(int(thread), cpus)
        moved |= others


def _move(thread: int, cpus: set[int]) -> None:
    if sys.platform == "linux":
        with suppress(OSError):  # it has ended, or the system has taken those CPUs away
            os.sched_setaffinity(thread, cpus)
