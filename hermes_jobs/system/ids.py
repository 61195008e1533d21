"""Random ids: what is asked of their source, and the operating system's."""

from __future__ import annotations

from typing import Protocol

from hermes_jobs.system.randomness import random_bits

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no characters that look alike
BITS = 5  # of a character
NAME_LENGTH = 12  # 60 bits


class Ids(Protocol):
    """Random ids and numbers."""

    def name(self, prefix: str) -> str:
        """A new id: the prefix and lower-case letters and digits."""

    def fence(self) -> int:
        """A fencing token for a claim: 63 random bits."""

    def fraction(self) -> float:
        """A random number from 0 up to 1, for jitter."""


class RandomIds:
    """Random ids, unique across processes."""

    def name(self, prefix: str) -> str:
        drawn = random_bits(BITS * NAME_LENGTH)  # read at once, because each read is a system call
        return prefix + "".join(ALPHABET[drawn >> at & 31] for at in range(0, BITS * NAME_LENGTH, BITS))

    def fence(self) -> int:
        return random_bits(63)

    def fraction(self) -> float:
        return random_bits(32) / (1 << 32)
