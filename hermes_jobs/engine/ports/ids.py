"""Random ids; the engine's only source of randomness."""

from __future__ import annotations

from typing import Protocol


class Ids(Protocol):
    """Random ids and numbers."""

    def name(self, prefix: str) -> str:
        """A new id: the prefix and lower-case letters and digits."""

    def fence(self) -> int:
        """A fencing token for a claim: 63 random bits."""

    def fraction(self) -> float:
        """A random number from 0 up to 1, for jitter."""
