"""What time it is."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Two clocks: what people call the time, and one that only runs forward."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds since some moment of this process's host."""
