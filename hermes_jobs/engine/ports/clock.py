"""The clock."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Wall-clock time and a monotonic clock."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary moment of this host; never goes back."""
