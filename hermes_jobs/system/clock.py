"""Clocks: what is asked of one, and those of the host."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time and a monotonic clock."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary moment of this host; never goes back."""


class SystemClock:
    """The host's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()
