"""About how many tokens a text takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.text.tokens import head, tail, token_weight, tokens


@pytest.mark.parametrize(
    ("text", "fewest", "most"),
    [
        ("x" * 400, 100, 100),
        ("我们明天上午在图书馆见面。" * 100, 900, 1_300),
        ("東京の天気を調べてください。" * 100, 900, 1_400),
        ("내일 아침에 회의가 있습니다." * 100, 800, 1_600),
        ("Завтра утром у нас встреча." * 100, 1_000, 1_400),
        ("لدينا اجتماع صباح الغد." * 100, 900, 1_200),
        ("कल सुबह हमारी बैठक है।" * 100, 1_100, 2_300),
        ("Morgen früh treffen wir uns." * 100, 700, 800),
        ("👍🏽" * 100, 200, 300),
    ],
)
def test_estimates_are_near_those_of_tokenizers_for_every_script(text: str, fewest: int, most: int) -> None:
    assert fewest <= tokens(text) <= most


@given(st.text(), st.integers(1, 40))
def test_a_cut_text_fits_its_limit(text: str, most: int) -> None:
    for part in (head(text, most), tail(text, most)):
        assert token_weight(part) <= most
        assert part in text
    if token_weight(text) <= most:
        assert head(text, most) == tail(text, most) == text
