"""Paths that lead elsewhere for each process: below `/proc/self` and the like, also by links."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH115, PTH118, PTH120

from __future__ import annotations

import os
import re

_OF_PROCESS = re.compile(r"/proc/(?:self|thread-self|\d+)", re.ASCII)
_OPEN_FILE = re.compile(r"/dev/(?:stdin|stdout|stderr|fd/\d{1,3})|/proc/self/fd/[012]", re.ASCII)
MAX_LINKS = 40
"""As many links as Linux goes through for one path."""


def differs_by_process(path: str) -> bool:
    """Whether an absolute path goes through the folders of a process. One with too many links may.

    What a process has open by a number (`/dev/stdin`) is its own, and no path to others."""
    if _OPEN_FILE.fullmatch(path):
        return False
    reached, links = "/", 0
    left = path.split("/")[::-1]
    while left:
        part = left.pop()
        if part in ("", "."):
            continue
        reached = os.path.dirname(reached) if part == ".." else os.path.join(reached, part)
        if _OF_PROCESS.fullmatch(reached):
            return True
        try:
            target = os.readlink(reached)
        except OSError:
            continue
        links += 1
        if links > MAX_LINKS:
            return True
        reached = "/" if target.startswith("/") else os.path.dirname(reached)
        left += target.split("/")[::-1]
    return False
