"""What providers document, and what their servers enforce: prices, efforts, thinking, default models."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import AssistantMessage, UserMessage
from hermes_jobs.llm.anthropic.abilities import abilities
from hermes_jobs.llm.client import OpenAIModel
from hermes_jobs.llm.dialect import ApiOptions, first_dialect
from hermes_jobs.llm.families import Effort
from hermes_jobs.llm.price import OwnPrices, Price
from hermes_jobs.llm.price_list import PriceList
from hermes_jobs.llm.providers import PROVIDERS, provider_of_model
from hermes_jobs.llm.render import effort_fields
from hermes_jobs.llm.usage import canonical_usage
from hermes_jobs.system.clock import SystemClock
from tests.llm.asking import ask, request
from tests.model_script import Answer, Raw
from tests.model_server import ModelServer

MILLION = 1_000_000
GEMINI = "https://generativelanguage.googleapis.com/v1beta/openai"


def test_writes_for_an_hour_cost_more_than_those_for_five_minutes() -> None:
    price = Price(input=4, output=20, cache_write=5)
    assert price.cost_usd(Usage(0, 0, 0, MILLION)) == pytest.approx(5)
    assert price.cost_usd(Usage(0, 0, 0, MILLION, 0, MILLION)) == pytest.approx(8)
    assert price.cost_usd(Usage(0, 0, 0, MILLION, 0, MILLION // 2)) == pytest.approx(6.5)
    assert Price(input=4, output=20).cost_usd(Usage(0, 0, 0, MILLION, 0, MILLION)) == pytest.approx(4)


def test_a_name_as_geminis_list_has_it_finds_its_price() -> None:
    listed = PriceList(GEMINI, SystemClock())
    price = listed.cost_usd("gemini-2.5-flash", Usage(MILLION))
    assert price
    assert listed.cost_usd("models/gemini-2.5-flash", Usage(MILLION)) == price
    own = OwnPrices({"gemini-x": Price(1, 2)}, listed)
    assert own.cost_usd("models/gemini-x", Usage(MILLION)) == 1
    assert provider_of_model("models/gemini-2.5-flash") is PROVIDERS["gemini"]


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115}, Usage(10, 105, 0, 0, 100)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, Usage(10, 5)),
        ({"prompt_tokens": 10, "completion_tokens": 5}, Usage(10, 5)),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 55, "cache_read_input_tokens": 40},
            Usage(0, 5, 40),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 105,
                "total_tokens": 115,
                "completion_tokens_details": {"reasoning_tokens": 100},
            },
            Usage(10, 105, 0, 0, 100),
        ),
    ],
)
def test_thoughts_that_only_the_total_counts_are_output(reported: dict[str, object], usage: Usage) -> None:
    assert canonical_usage(reported) == usage


@pytest.mark.parametrize("model", ["claude-mythos-5-1", "claude-mythos-5-2", "anthropic/claude-mythos-5.2"])
def test_mythos_binds_its_thinking_as_fable_does(model: str) -> None:
    assert abilities(model) == abilities(model.replace("mythos", "fable"))
    assert abilities(model).binds


@pytest.mark.parametrize(
    ("url", "model", "effort", "sent"),
    [
        ("https://api.x.ai/v1", "grok-4.3", "none", "none"),
        ("https://api.x.ai/v1", "grok-4.3", "low", "low"),
        ("https://api.x.ai/v1", "grok-4.3", "medium", "medium"),
        ("https://api.x.ai/v1", "grok-4.7", "max", "high"),
        ("https://api.x.ai/v1", "grok-4.20-non-reasoning", "low", None),
        ("https://api.deepseek.com/v1", "deepseek-v4-flash", "low", "low"),
        ("https://api.deepseek.com/v1", "deepseek-v4-flash", "medium", "high"),
        ("https://api.deepseek.com/v1", "deepseek-v4-flash", "max", "max"),
    ],
)
def test_an_effort_is_sent_in_the_providers_word(
    url: str, model: str, effort: Effort, sent: str | None
) -> None:
    dialect = first_dialect(url, model, ApiOptions(reasoning_effort=effort))
    body = effort_fields(replace(request("Hello"), model=model), dialect)
    assert body.get("reasoning_effort") == sent


@pytest.mark.parametrize(
    ("provider", "listed", "chosen"),
    [
        ("gemini", ["models/gemini-3.8-flash", "models/gemini-4-argon"], "models/gemini-3.8-flash"),
        ("gemini", ["models/gemini-4.1-flash", "models/gemini-3.10-flash", "x"], "models/gemini-4.1-flash"),
        ("gemini", ["models/gemini-3.9-flash-lite", "models/gemini-3.9-flash-tts"], None),
        ("deepseek", ["deepseek-v4.1-flash", "deepseek-v5-flash", "deepseek-v5-pro"], "deepseek-v5-flash"),
        ("deepseek", [], "deepseek-v4-flash"),
        ("openai", ["gpt-5.6-terra", "gpt-6.2-terra", "gpt-5.4-mini"], "gpt-6.2-terra"),
        ("openai", ["gpt-6-mini", "gpt-5.4-mini", "gpt-5.4"], "gpt-6-mini"),
        ("anthropic", ["claude-sonnet-5-5", "claude-sonnet-5"], "claude-sonnet-5-5"),
        ("xai", ["grok-4.20", "grok-4.7", "grok-build-0.1"], "grok-4.7"),
        ("groq", ["llama", "qwen"], None),
    ],
)
def test_a_default_model_is_chosen_from_the_providers_list(
    provider: str, listed: list[str], chosen: str | None
) -> None:
    entry = next(each for each in PROVIDERS.values() if each.name == provider)
    assert entry.usual_model(listed) == chosen


THINKING = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "I th"}]},
    {"type": "thinking", "thinking": [{"type": "text", "text": "ink."}], "closed": True},
]


@pytest.fixture
def mistral(model_server: ModelServer) -> Iterator[OpenAIModel]:
    made = OpenAIModel(
        api_key="sk-test", base_url=model_server.base_url, manner=ApiOptions(provider="mistral")
    )
    yield made
    made.close()


def test_mistrals_thinking_is_sent_back_as_it_came_and_no_refused_field_is_sent(
    mistral: OpenAIModel, model_server: ModelServer
) -> None:
    # https://docs.mistral.ai/resources/cookbooks/mistral-reasoning: the content is a list of parts; unknown
    # fields are refused with 422 `extra_forbidden`.
    deltas = [{"content": [THINKING[0]]}, {"content": [THINKING[1]]}, {"content": "Yes."}]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}]})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    model_server.follow([Raw(body=body), Answer(text="Again.")])
    first = ask(mistral)
    assert (first.content, first.reasoning) == ("Yes.", "I think.")
    said = AssistantMessage(first.content, payload=first.payload)
    ask(mistral, request("Hello", said, UserMessage("Go on.")))
    assert all("stream_options" not in seen.body for seen in model_server.requests)
    assert model_server.requests[1].body["messages"][2]["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "I think."}], "closed": True},
        {"type": "text", "text": "Yes."},
    ]
