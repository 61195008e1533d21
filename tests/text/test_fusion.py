"""Rankings fused by reciprocal rank."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.text.search.fusion import Fused, fused

RANKING = st.lists(st.integers(0, 9), unique=True)


@given(RANKING)
def test_one_ranking_stays_as_it_is(ranking: list[int]) -> None:
    assert [each.thing for each in fused({"words": ranking, "meaning": []})] == ranking


def test_hits_of_two_tracks_come_before_hits_of_one() -> None:
    assert fused({"words": ["a", "b"], "meaning": ["c", "b"]}) == [
        Fused("b", ("words", "meaning")),
        Fused("a", ("words",)),
        Fused("c", ("meaning",)),
    ]


@given(RANKING, RANKING)
def test_everything_is_there_once(words: list[int], meaning: list[int]) -> None:
    found = fused({"words": words, "meaning": meaning})
    assert sorted(each.thing for each in found) == sorted({*words, *meaning})
