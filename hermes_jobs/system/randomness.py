"""Random bits of the operating system. `secrets` does the same and imports a dozen modules first."""

from __future__ import annotations

import os


def random_bits(count: int) -> int:
    """A random number of that many bits."""
    size = -(-count // 8)
    return int.from_bytes(os.urandom(size), "big") >> (size * 8 - count)


def random_hex(size: int) -> str:
    """That many random bytes as text."""
    return os.urandom(size).hex()
