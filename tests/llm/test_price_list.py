from __future__ import annotations

import pytest

from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.llm.price_list import PriceList
from hermes_jobs.system.clock import SystemClock

MILLION = Usage(input_tokens=1_000_000)


def cost(base_url: str | None, model: str, usage: Usage = MILLION) -> float | None:
    return PriceList(base_url, SystemClock()).cost_usd(model, usage)


def test_a_known_model_at_a_known_endpoint_has_a_price() -> None:
    price = cost(None, "gpt-4o")
    assert price is not None
    assert price == pytest.approx(2.5)


def test_cached_tokens_are_cheaper_and_all_parts_add_up() -> None:
    fresh, read = cost(None, "gpt-4o", Usage(1_000_000)), cost(None, "gpt-4o", Usage(0, 0, 1_000_000))
    both = cost(None, "gpt-4o", Usage(1_000_000, 0, 1_000_000))
    assert fresh is not None
    assert read is not None
    assert read < fresh
    assert both == pytest.approx(fresh + read)


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        pytest.param(Usage(1_000_000), 5.0, id="fresh"),
        pytest.param(Usage(0, 0, 1_000_000), 0.5, id="read"),
        pytest.param(Usage(0, 0, 0, 1_000_000), 6.25, id="kept for five minutes"),
        pytest.param(Usage(0, 0, 0, 1_000_000, 0, 1_000_000), 10.0, id="kept for an hour"),
        pytest.param(Usage(0, 0, 0, 1_000_000, 0, 500_000), 8.125, id="half of each"),
    ],
)
def test_one_hour_cache_writes_have_their_own_price(usage: Usage, usd: float) -> None:
    assert cost("https://api.anthropic.com", "claude-opus-4-5", usage) == pytest.approx(usd)


@pytest.mark.parametrize(
    ("base_url", "model"),
    [
        (None, "a model that nobody sells"),
        (None, ""),
        ("http://127.0.0.1:8080/v1", "gpt-4o"),
        ("https://llm.example.org/v1", "gpt-4o"),
    ],
)
def test_unknown_prices_are_not_guessed(base_url: str | None, model: str) -> None:
    assert cost(base_url, model) is None


def test_nothing_used_and_a_rehearsal_cost_nothing() -> None:
    assert cost(None, "gpt-4o", NO_USAGE) == 0.0
    assert cost(None, "rehearsal") == 0.0
