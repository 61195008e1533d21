"""What endpoints list, and what is told of an address that is not an API's."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_jobs.llm.catalogue import Offered, listing
from hermes_jobs.llm.price import Price
from tests.llm.addresses import serving

KEY = "sk-nobody-may-see-this"
TOGETHER = {"input": 0.2, "output": 1}
OPENROUTER = {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"}
WEB = "answers a web page ('Welcome to the shop'), not an API."
OFFERED = Offered("x/y", 9, Price(3, 15, 0.3))
PAGE = "<!doctype html><html><head><title>Welcome to the shop</title></head></html>"


def models(*items: dict[str, Any]) -> tuple[int, Any]:
    return 200, {"object": "list", "data": list(items)}


@pytest.mark.parametrize(
    ("body", "offered"),
    [
        ({"object": "list", "data": [{"id": "a", "object": "model"}]}, Offered("a")),
        ({"data": [{"id": "a", "max_model_len": 4096}]}, Offered("a", 4096)),
        ({"data": [{"id": "a", "meta": {"n_ctx_train": 2048}}]}, Offered("a", 2048)),
        ({"data": [{"id": "a", "context_window": 131_072}]}, Offered("a", 131_072)),
        (
            [{"id": "a", "context_length": 8, "pricing": {"input": 0.2, "output": 1}}],
            Offered("a", 8, Price(0.2, 1)),
        ),
        ({"data": [{"id": "x/y", "context_length": 9, "pricing": OPENROUTER}]}, OFFERED),
        ({"data": [{"id": "auto", "pricing": {"prompt": "-1", "completion": "-1"}}]}, Offered("auto")),
        ({"models": [{"name": "qwen3:8b"}]}, Offered("qwen3:8b")),
        ({"data": [{"id": "a", "context_length": "many", "pricing": "much"}, "b", {"x": 1}]}, Offered("a")),
    ],
)
def test_windows_and_prices_are_read_as_providers_write_them(body: Any, offered: Offered) -> None:
    with serving({"/v1/models": (200, body)}) as url:
        assert listing(f"{url}/v1", KEY).models == (offered,)


def test_anthropics_models_are_asked_for_at_its_own_address() -> None:
    item = {"type": "model", "id": "claude-x", "display_name": "Claude X", "max_input_tokens": 200_000}
    with serving({"/v1/models": (200, {"data": [item], "has_more": False})}) as url:
        assert listing(url, KEY, "anthropic").models == (Offered("claude-x", 200_000),)
        told = listing(f"{url}/v1", KEY)
    assert (told.trouble, told.problem) == ("other_api", f"{url}/v1/models speaks Anthropic's Messages API.")
    assert told.hint.endswith("config set model.provider anthropic")


@pytest.mark.parametrize(
    ("answers", "path", "trouble", "problem"),
    [
        (
            {"/v1/models": (200, PAGE)},
            "/v1",
            "page",
            "answers a web page ('Welcome to the shop'), not an API.",
        ),
        ({"/models": (404, PAGE)}, "", "page", WEB),
        ({"/models": (200, PAGE), "/v1/models": models({"id": "a"})}, "", "address", "but there is one at"),
        ({"/v1/models": models({"id": "a"})}, "/v1/chat/completions", "address", "but there is one at"),
        ({}, "/v1", "unlisted", "lists no models (404: 404 page not found)."),
        (
            {"/v1/models": (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})},
            "/v1",
            "auth",
            "refuses the key (401: Incorrect API key provided: [REDACTED])",
        ),
        (
            {"/v1/models": (404, {"type": "error", "error": {"type": "not_found_error", "message": "no"}})},
            "/v1",
            "other_api",
            "speaks Anthropic's Messages API.",
        ),
        ({"/v1/models": (200, {"hello": "world"})}, "/v1", "unlisted", "lists no models (200: "),
    ],
)
def test_an_answer_that_is_no_model_list_is_described(
    answers: dict[str, tuple[int, Any]], path: str, trouble: str, problem: str
) -> None:
    with serving(answers) as url:
        told = listing(url + path, KEY)
    assert told.trouble == trouble
    assert problem in told.problem
    assert KEY not in told.problem
    assert not told.models
    if trouble == "address":
        assert told.better_url == f"{url}/v1"


def test_openais_api_in_place_of_anthropics_is_recognised() -> None:
    with serving({"/v1/models": models({"id": "gpt", "object": "model"})}) as url:
        assert listing(url, KEY, "anthropic").problem == f"{url}/v1/models speaks OpenAI's API."


def test_a_server_that_does_not_run_is_reported() -> None:
    told = listing("http://127.0.0.1:9/v1", None)
    assert told.trouble == "connection"
    assert "http://127.0.0.1:9/v1/models cannot be reached" in told.problem


def test_the_nearest_names_are_found_with_or_without_a_vendor() -> None:
    listed = [{"id": "anthropic/claude-haiku-4.5"}, {"id": "openai/gpt-5-mini"}, {"id": "qwen3:latest"}]
    with serving({"/v1/models": models(*listed)}) as url:
        told = listing(f"{url}/v1", None)
    assert told.nearest("gpt5-mini") == ["openai/gpt-5-mini"]
    assert told.nearest("openai/gpt-5-mni") == ["openai/gpt-5-mini"]
    assert told.nearest("zzzzzz") == []
    assert told.find("qwen3") == Offered("qwen3:latest")
