"""While a background process runs: whether its guarded folders have changed, so that somebody looks at them.

The keeper asks this every few seconds; nothing is looked at, and no other process is started, as long as no
folder has changed.
"""

# Each import costs milliseconds of every command: pathlib is not worth its own here.
# ruff: noqa: PTH118, PTH120, PTH123

from __future__ import annotations

import base64
import json
import os
import time

EVERY = 10.0
"""Seconds between two looks."""


class GuardTicks:
    """The folders and files of one guard, as they were when it was made or last looked at."""

    def __init__(self, folder: str) -> None:
        """`folder`: that of the process, below the home's folder for processes."""
        processes, name = os.path.split(folder)
        self.file = os.path.join(os.path.dirname(processes), "guards", f"p-{name}")
        self._paths: list[bytes] = []
        try:
            with open(self.file, "rb") as stream:
                guard = json.load(stream)
            self._paths = base64.b64decode(guard["known"]).split(b"\0")
            self._paths += [base64.b64decode(path) for path, _ in guard["before"]]
        except (OSError, ValueError, KeyError):
            pass  # it has none
        self._stamps = self._looked()
        self._next = time.monotonic() + EVERY

    def are_due(self) -> bool:
        """Whether it is time for a look, and something has changed since the last one."""
        if not self._paths or time.monotonic() < self._next:
            return False
        before, self._stamps = self._stamps, self._looked()
        self._next = time.monotonic() + EVERY
        return before != self._stamps

    def _looked(self) -> list[int]:
        stamps = []
        for path in self._paths:
            try:
                stamps.append(os.lstat(path).st_ctime_ns)
            except OSError:
                stamps.append(0)
        return stamps
