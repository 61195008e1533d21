"""Vectors of texts: stored as bytes, compared by the cosine of their angle.

A stored vector has length 1 and is 32-bit floats, little endian. Its signs are one bit for each dimension:
of many vectors, those whose signs agree most with a question's are its nearest but for a few, and comparing
signs is one operation on two whole numbers. So all signs are compared, and the nearest by them exactly.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nsmallest
from math import inf, sqrt
from operator import mul
from typing import TypeVar

K = TypeVar("K")

EXACT = 400
"""Vectors that are compared exactly: the nearest by their signs."""
_BITS = bytes(ord("1") if byte >= 0x80 else ord("0") for byte in range(256))


def packed(values: Iterable[float]) -> bytes:
    """The vector as it is stored; empty for one without a direction."""
    numbers = list(values)
    length = sqrt(sum(map(mul, numbers, numbers)))
    return (
        _swapped(array("f", (number / length for number in numbers))).tobytes() if 0 < length < inf else b""
    )


def signs(vector: bytes) -> bytes:
    """The signs of a stored vector."""
    bits = vector[3::4].translate(_BITS)
    return int(bits, 2).to_bytes((len(bits) + 7) // 8, "big") if bits else b""


def nearest(
    question_vector: bytes,
    candidates: Sequence[tuple[K, bytes]],
    vectors: Callable[[Sequence[K]], Mapping[K, bytes]],
    most: int,
) -> list[tuple[K, float]]:
    """At most that many of those known by their signs, with their cosines, the nearest first.

    `vectors` gives the whole vectors of some; one of another length than `wanted` is left out.
    """
    own = int.from_bytes(signs(question_vector), "big")
    chosen = candidates
    if len(candidates) > EXACT:
        chosen = nsmallest(
            EXACT, candidates, key=lambda candidate: (own ^ int.from_bytes(candidate[1], "big")).bit_count()
        )
    question = _numbers(question_vector)
    scored = [
        (key, sum(map(mul, question, _numbers(vector))))
        for key, vector in vectors([key for key, _ in chosen]).items()
        if len(vector) == len(question_vector)
    ]
    return nsmallest(most, scored, key=lambda neighbour: -neighbour[1])


def _numbers(vector: bytes) -> array[float]:
    numbers = array("f")
    numbers.frombytes(vector)
    return _swapped(numbers)


def _swapped(numbers: array[float]) -> array[float]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
