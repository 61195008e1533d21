"""Vectors: stored with length 1, and found by their signs first."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.text import vectors

NUMBERS = st.lists(st.floats(-1e3, 1e3).map(lambda each: round(each, 3)), min_size=1, max_size=40)


@given(NUMBERS)
def test_a_vector_is_its_own_nearest(numbers: list[float]) -> None:
    stored = vectors.packed(numbers)
    if not any(numbers):
        assert stored == b""
        return
    [(key, cosine)] = vectors.nearest(stored, [("own", vectors.signs(stored))], lambda _: {"own": stored}, 1)
    assert key == "own"
    assert cosine == pytest.approx(1.0, abs=1e-4)


def test_signs_are_one_bit_for_each_number() -> None:
    assert vectors.signs(vectors.packed([1, -1, 2, -0.5, 3, 3, 3, -3, -1])) == bytes([0b0, 0b1010_0011])
    assert vectors.signs(b"") == b""


def test_a_vector_of_another_length_is_never_near() -> None:
    stored = vectors.packed([1.0, 0.0])
    assert vectors.nearest(stored, [(1, b"")], lambda _: {1: vectors.packed([1.0])}, 3) == []


def test_among_many_the_nearest_are_found_by_their_signs() -> None:
    """As many as `nearest` compares exactly are enough: of the ten nearest of 3,000 it misses few."""
    random = Random(7)
    centres = [[random.gauss(0, 1) for _ in range(256)] for _ in range(60)]
    known = [
        vectors.packed([each + random.gauss(0, 0.8) for each in random.choice(centres)]) for _ in range(3_000)
    ]
    bits = [(number, vectors.signs(each)) for number, each in enumerate(known)]
    found = 0
    for _ in range(10):
        wanted = vectors.packed([each + random.gauss(0, 0.8) for each in random.choice(centres)])

        def given_by(numbers: Sequence[int]) -> Mapping[int, bytes]:
            return {number: known[number] for number in numbers}

        exact = sorted(range(len(known)), key=lambda number: -dot(wanted, known[number]))[:10]
        found += len({number for number, _ in vectors.nearest(wanted, bits, given_by, 10)} & set(exact))
    assert found >= 95


def dot(one: bytes, other: bytes) -> float:
    """The cosine of two stored vectors."""
    left, right = array("f", one), array("f", other)
    return sum(a * b for a, b in zip(left, right, strict=True))
