"""Paired differences: the exact sign test by known values, and intervals that follow from their seed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_jobs.text.paired_statistics import interval, paired, sign_test
from tests.examples import examples


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (9, 1, 0.021484375), (7, 3, 0.34375), (3, 3, 1.0)],
)
def test_the_sign_test_is_twice_the_tail_of_the_binomial(better: int, worse: int, p: float) -> None:
    assert sign_test(better, worse) == pytest.approx(p)
    assert sign_test(worse, better) == pytest.approx(p)


def test_the_sign_test_of_very_many_pairs_does_not_overflow() -> None:
    assert sign_test(3_000, 1_000) < 1e-100
    assert sign_test(2_000, 2_000) == 1.0


def test_thirds_that_cancel_each_other_are_no_difference() -> None:
    assert paired([1 / 3, 1 / 3, -2 / 3], seed=1).mean == 0.0


def test_no_difference_has_an_interval_of_nothing_and_a_sure_one_has_no_width() -> None:
    none, sure = paired([0.0] * 8, seed=1), paired([2.0] * 8, seed=1)
    assert (none.mean, none.low, none.high, none.p) == (0.0, 0.0, 0.0, 1.0)
    assert (sure.low, sure.high, sure.better, sure.p) == (2.0, 2.0, 8, 2 / 2**8)
    with pytest.raises(ValueError, match="no pairs"):
        paired([], seed=1)


@settings(max_examples=examples(10))
@given(st.lists(st.floats(-10, 10), min_size=1, max_size=12), st.integers(0, 2**48))
def test_an_interval_holds_the_extremes_and_is_the_same_for_the_same_seed(
    differences: list[float], seed: int
) -> None:
    low, high = interval(differences, seed)
    assert min(differences) - 1e-9 <= low <= high <= max(differences) + 1e-9
    assert (low, high) == interval(differences, seed)


def test_an_interval_covers_the_true_mean_about_as_often_as_it_says() -> None:
    """Of 20 samples of a die, about 19 intervals hold 3.5; their draws are fixed by their seeds."""
    state, covered = 7, 0
    for seed in range(20):
        rolls = []
        for _ in range(30):
            state = (state * 1103515245 + 12345) % 2**31
            rolls.append(float(1 + (state >> 16) % 6))
        low, high = interval(rolls, seed)
        covered += low <= 3.5 <= high
    assert 16 <= covered <= 20
