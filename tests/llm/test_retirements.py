"""Ends of models that providers have announced."""

from __future__ import annotations

from datetime import date

import pytest

from hermes_jobs.llm.catalogue import Offered, listing
from hermes_jobs.llm.providers import PROVIDERS, ProviderName
from hermes_jobs.llm.retirements import retirement_of
from tests.llm.addresses import serving


@pytest.mark.parametrize(
    ("provider", "model", "ends"),
    [
        ("openai", "gpt-5-mini", date(2026, 12, 11)),
        ("openai", "gpt-5-mini-2025-08-07", date(2026, 12, 11)),
        ("openai", "gpt-5.1-mini", None),
        ("openai", "gpt-5.6-terra", None),
        ("openai", "gpt-4", date(2026, 10, 23)),
        ("openai", "gpt-4-0613", date(2026, 10, 23)),
        ("openai", "gpt-4o-2024-08-06", date(2027, 1, 14)),
        ("gemini", "models/gemini-2.5-flash", date(2026, 12, 1)),
        ("gemini", "gemini-2.5-flash-lite", None),
        ("deepseek", "deepseek-chat", date(2026, 7, 24)),
        ("deepseek", "deepseek-v4-flash", None),
        ("xai", "grok-4-fast-reasoning", date(2026, 5, 15)),
        ("xai", "grok-4.3", None),
        ("openrouter", "deepseek-chat", None),
        ("anthropic", "claude-sonnet-4-20250514", date(2026, 6, 15)),
        ("anthropic", "claude-sonnet-4-6", None),
    ],
)
def test_an_end_holds_for_the_model_and_its_snapshots(
    provider: ProviderName, model: str, ends: date | None
) -> None:
    end = retirement_of(provider, model)
    assert (end and end.ends) == ends


def test_no_default_model_has_an_announced_end() -> None:
    ends = [retirement_of(each.name, each.default_model or "") for each in PROVIDERS.values()]
    assert ends == [None] * len(PROVIDERS)


def test_a_sentence_says_whether_the_end_has_come() -> None:
    end = retirement_of("gemini", "gemini-2.5-flash")
    assert end is not None
    before, after = (end.sentence("gemini-2.5-flash", date(2026, month, 1)) for month in (11, 12))
    assert before.startswith("gemini-2.5-flash will be retired by its provider on 2026-12-01")
    assert after.startswith("gemini-2.5-flash was retired")


@pytest.mark.parametrize(
    ("fields", "ends"),
    [
        ({"shutdown_date": "2026-12-11"}, date(2026, 12, 11)),
        ({"shutdown_date": None}, None),
        ({"expiration_date": "2026-11-08"}, date(2026, 11, 8)),
        ({"deprecation": "2026-11-30T12:00:00Z"}, date(2026, 11, 30)),
        ({"deprecation": "soon"}, None),
    ],
)
def test_announced_ends_are_read_from_lists(fields: dict[str, str | None], ends: date | None) -> None:
    with serving({"/v1/models": (200, {"data": [{"id": "a", **fields}]})}) as url:
        assert listing(f"{url}/v1", None).models == (Offered("a", ends=ends),)
