"""What a process gets from its host: clocks, random ids, and the way to other workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hermes_jobs.domain.session.steps import Step


class Clock(Protocol):
    """Wall-clock time and a monotonic clock."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary moment of this host; never goes back."""


class Ids(Protocol):
    """Random ids and numbers."""

    def name(self, prefix: str) -> str:
        """A new id: the prefix and lower-case letters and digits."""

    def fence(self) -> int:
        """A fencing token for a claim: 63 random bits."""

    def fraction(self) -> float:
        """A random number from 0 up to 1, for jitter."""


class Dispatcher(Protocol):
    """Sends due steps to workers. It may drop, delay, duplicate and reorder them."""

    def dispatch(self, steps: Sequence[Step]) -> None:
        """Send these steps. Never raises."""
