"""Fresh names and numbers: the only chance there is."""

from __future__ import annotations

from typing import Protocol


class Ids(Protocol):
    """Fresh names and numbers."""

    def name(self, prefix: str) -> str:
        """A new id: the prefix and lower-case letters and digits."""

    def fence(self) -> int:
        """A number that no claim carried before: 63 random bits."""

    def fraction(self) -> float:
        """A random number from 0 up to 1, for jitter."""
