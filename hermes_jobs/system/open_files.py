"""How many files this process may have open at a time."""

from __future__ import annotations

import resource


def allow_open_files(wanted: int) -> int:
    """Raise the process's limit if it is lower, as far as is permitted; how many of the wanted it may open.

    Many systems have a default of 256 or 1,024 for each process.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _reaches(soft, wanted):
        return wanted
    limit = wanted if _reaches(hard, wanted) else hard
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    except (OSError, ValueError):
        return soft
    return limit


def _reaches(limit: int, wanted: int) -> bool:
    return limit == resource.RLIM_INFINITY or limit >= wanted
