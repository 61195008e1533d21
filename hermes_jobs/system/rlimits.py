"""How many files a process may have open: enough for what its threads hold at once."""

from __future__ import annotations

import contextlib
import resource

A_THREAD = 8  # pipes, sockets and event loops of one tool call or model call
BESIDES = 128  # the log, the views, the broker, and what libraries keep open


def allow_open_files(threads: int) -> None:
    """Raise this process's limit where it is too low for so many threads, as far as the system lets it.

    Many systems begin with 256 or 1,024, which the default of 256 threads outgrows.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = threads * A_THREAD + BESIDES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
