"""`last` and `last~N`: names that count back from the newest thing of a list."""

from __future__ import annotations

import re

LAST = "last"
_REFERENCE = re.compile(rf"{LAST}(?:~(\d{{1,9}})?)?")


def steps_back(name: str) -> int | None:
    """How many before the newest: 0 for `last`, 1 for `last~` and `last~1`; None for any other name."""
    match = _REFERENCE.fullmatch(name)
    if match is None:
        return None
    return int(match[1]) if match[1] else int(name != LAST)
