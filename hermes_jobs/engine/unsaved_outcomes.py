"""Outcomes and releases of steps that could not be appended: they are saved in memory and tried again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from hermes_jobs.errors import LogUnavailable, StepLost

logger = logging.getLogger(__name__)

T = TypeVar("T")


class UnsavedOutcomes:
    """Of one process. Safe for many threads."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    def record(self, append: Callable[[], T], saved_after: type[Exception] = LogUnavailable) -> T:
        """The result of `append`. After such an error it is saved for `retry`, and the error is raised."""
        try:
            return append()
        except StepLost:
            raise
        except saved_after:
            self.save(partial(self.record, append, saved_after))
            raise

    def save(self, append: Callable[[], object]) -> None:
        """Save it for `retry`."""
        with self._lock:
            self._waiting.append(append)

    def retry(self) -> int:
        """Append what was saved; returns how many are left."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for append in waiting:
            try:
                with suppress(LogUnavailable, StepLost):
                    append()
            except Exception:
                logger.exception("an outcome could not be recorded; it is tried again")
        return len(self._waiting)
