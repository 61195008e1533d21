"""Statistics of paired differences: how large a difference is, and whether chance alone would make it.

The sign test is exact: among n pairs that differ, the number in which one side is better is binomial with 1/2
if neither is. The interval is a percentile bootstrap over pairs (Efron and Tibshirani, An Introduction to the
Bootstrap, 1993, chapter 13); its draws follow from a seed, so that the same answers give the same interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb
from statistics import fmean

import msgspec

RESAMPLES = 2_000
DIGITS = 9  # of the mean: what floats add up to beyond that is not a difference
LEVEL = 0.95
_MULTIPLIER, _INCREMENT, _MODULUS = (
    6364136223846793005,
    1442695040888963407,
    1 << 64,
)  # Knuth's MMIX generator


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The mean difference of `num_pairs` pairs with its interval; `better` and `worse` count the pairs in
    which the difference is above and below zero, and `p` is the sign test's probability, two-sided."""

    num_pairs: int
    mean: float
    low: float
    high: float
    better: int
    worse: int
    p: float


def paired(differences: Sequence[float], seed: int) -> Difference:
    """What these differences say. Raises `ValueError` where there are none."""
    if not differences:
        raise ValueError("there are no pairs")
    better = sum(difference > 0 for difference in differences)
    worse = sum(difference < 0 for difference in differences)
    low, high = interval(differences, seed)
    return Difference(
        num_pairs=len(differences),
        mean=round(fmean(differences), DIGITS),
        low=low,
        high=high,
        better=better,
        worse=worse,
        p=sign_test(better, worse),
    )


def sign_test(better: int, worse: int) -> float:
    """The probability that so uneven counts, or more uneven ones, come about by chance; 1 without any."""
    pairs = better + worse
    tail = sum(comb(pairs, count) for count in range(min(better, worse) + 1))
    return min(1.0, 2 * tail / (1 << pairs))


def interval(differences: Sequence[float], seed: int) -> tuple[float, float]:
    """Between which means `LEVEL` of the resamples lie."""
    draws = _draws(seed)
    count = len(differences)
    means = sorted(fmean(differences[next(draws) % count] for _ in range(count)) for _ in range(RESAMPLES))
    cut = round((1 - LEVEL) / 2 * RESAMPLES)
    return means[cut], means[-cut - 1]


def _draws(seed: int) -> Iterator[int]:
    """Numbers that look random; the low bits of such a generator do not, and are left out."""
    state = seed % _MODULUS
    while True:
        state = (state * _MULTIPLIER + _INCREMENT) % _MODULUS
        yield state >> 33
