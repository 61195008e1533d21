"""`models list`, and what `doctor` and `turns show` tell of models and their caches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.home import KEY, Home, endpoint
from tests.llm.addresses import serving
from tests.model_script import Answer, AskedCall, Refuse, Seen
from tests.model_server import ModelServer

PRICED = {"HERMES_JOBS_MODELS__PRICES": "{scripted: {input: 1, output: 4}}"}


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer) -> Home:
    return Home(tmp_path, endpoint(model_server.base_url))


@pytest.mark.parametrize("command", [("models", "list"), ("models",)])
def test_the_models_of_the_endpoint_are_listed_with_price_and_aliases(
    home: Home, command: tuple[str, ...]
) -> None:
    aliases = {"HERMES_JOBS_MODELS__ALIASES": "{s: scripted, other: not-here}"}
    seen = home.run(*command, **PRICED, **aliases)
    assert seen.code == 0
    assert seen.out.splitlines()[1].split() == ["scripted", "*", "$1", "$4", "s"]
    assert "other stands for not-here." in seen.err


def test_models_are_listed_as_json(home: Home, model_server: ModelServer) -> None:
    told = home.run("models", "list", "--json", "scr", **PRICED).json
    price = {"input": 1.0, "output": 4.0, "cache_read": None, "cache_write": None}
    assert told == {
        "provider": "custom",
        "endpoint": model_server.base_url,
        "models": [{"name": "scripted", "window": None, "price": price, "aliases": [], "configured": True}],
        "aliases": {},
        "ensembles": {},
    }
    assert home.run("models", "list", "--json", "none-such").json["models"] == []


def test_without_a_model_or_a_server_nothing_is_listed(home: Home) -> None:
    nothing = home.run("models", "list", OPENAI_BASE_URL="", OPENAI_API_KEY="", HERMES_JOBS_MODEL="")
    away = home.run("models", "list", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert (nothing.code, away.code) == (2, 1)
    assert "hermes-jobs setup" in nothing.err
    assert "cannot be reached" in away.err


def test_an_alias_is_logged_as_its_model(home: Home) -> None:
    aliases = {"HERMES_JOBS_MODELS__ALIASES": "{s: scripted}", "HERMES_JOBS_MODEL": "other"}
    sent = home.send("-m", "s", "Hello", **aliases)
    assert sent["model"] == "scripted"
    (listed,) = home.run("sessions", "list", "--json").json
    assert listed["model"] == "scripted"


def test_a_price_of_zero_lets_a_limit_in_money_hold(home: Home) -> None:
    limited = {"HERMES_JOBS_BUDGETS__DAY_USD": "1"}
    refused = home.run("send", "Hello", **limited)
    sent = home.send("Hello", HERMES_JOBS_MODELS__PRICES="{scripted: 0}", **limited)
    assert refused.code == 2
    assert "models.prices.scripted" in refused.err
    assert sent["cost_usd"] == 0


def test_a_mistyped_model_names_the_nearest_that_is_offered(home: Home, model_server: ModelServer) -> None:
    message = "The model `scrpted` does not exist"
    model_server.follow(
        lambda seen: Refuse(status=404, body={"error": {"message": message, "code": "model_not_found"}})
    )
    sent = home.run("send", "-m", "scrpted", "Hello")
    assert sent.code == 1
    assert f"{message}. The nearest that it offers: scripted." in sent.err


LISTED = (200, {"object": "list", "data": [{"id": "a"}]})
PAGE = "<!doctype html><title>Welcome</title>"


@pytest.mark.parametrize(
    ("answers", "path", "told"),
    [
        ({"/v1/models": LISTED}, "", "There is no API at {url}, but there is one at {url}/v1."),
        ({"/chat/completions": (200, PAGE), "/models": (200, PAGE)}, "", "answers a web page ('Welcome')"),
        (
            {"/v1/models": (404, {"type": "error", "error": {"type": "not_found_error", "message": "no"}})},
            "/v1",
            "speaks Anthropic's Messages API.",
        ),
    ],
)
def test_an_address_without_the_api_is_reported_at_once(
    home: Home, answers: dict[str, tuple[int, Any]], path: str, told: str
) -> None:
    with serving(answers) as url:
        sent = home.run("send", "Hello", OPENAI_BASE_URL=url + path)
    assert sent.code == 1
    assert told.format(url=url) in sent.err


def able(seen: Seen) -> Answer:
    if seen.body.get("tools") and not seen.rounds and "write_note" in str(seen.body["tools"]):
        return Answer(tool_calls=(AskedCall("write_note", {"text": "blue"}),))
    return Answer(text="1 2 3 4 5", piece=2)


def test_doctor_tries_the_model_and_shows_the_cost(home: Home, model_server: ModelServer) -> None:
    model_server.follow(able)
    told = home.run("doctor", "--live", "--json", **PRICED)
    found = {check["check"]: check for check in told.json["checks"] if check["check"].startswith("live.")}
    assert told.code == 0
    assert [name.removeprefix("live.") for name in found] == [
        *("window", "call", "streaming", "tools", "reasoning", "caching", "usage", "price", "cost")
    ]
    assert all(check["status"] == "ok" for check in found.values()), found
    assert found["live.cost"]["message"].startswith("this check took 3 calls, ")
    assert KEY not in told.out + told.err


def test_doctor_names_a_model_that_the_provider_does_not_list_or_will_end(
    home: Home, model_server: ModelServer
) -> None:
    missing = home.run("doctor", "--live", "--json", HERMES_JOBS_MODEL="scrpted").json["checks"]
    model_server.listed = [{"id": "scripted", "expiration_date": "2099-01-31"}]
    ending = home.run("doctor", "--live", "--json").json["checks"]
    (first,) = [each for each in missing if each["check"] == "live.model"]
    (second,) = [each for each in ending if each["check"] == "live.model"]
    assert first["status"] == "warn"
    assert first["message"] == "scrpted is not in the provider's list of 1 models"
    assert first["hint"] == "The nearest: scripted."
    assert second["message"] == "the provider announces the end of scripted for 2099-01-31"


@pytest.mark.parametrize(("provider", "told"), [("deepseek", True), ("custom", False)])
def test_doctor_says_without_a_call_that_a_configured_model_was_retired(
    tmp_path: Path, provider: str, told: bool
) -> None:
    environ = {
        "HERMES_JOBS_MODEL": "deepseek-chat",
        "HERMES_JOBS_MODEL__PROVIDER": provider,
        "HERMES_JOBS_MODEL__BASE_URL": "" if provider == "deepseek" else "http://127.0.0.1:9/v1",
        "DEEPSEEK_API_KEY": KEY,
    }
    checks = Home(tmp_path, environ).run("doctor", "--json").json["checks"]
    retired = [each["message"] for each in checks if each["check"] == "model" and each["status"] == "warn"]
    sentence = "deepseek-chat was retired by its provider on 2026-07-24; its replacement is deepseek-v4-flash"
    assert retired == ([sentence] if told else [])


def test_doctor_says_where_marks_are_sent_and_nothing_is_ever_cached(home: Home) -> None:
    marked = {"HERMES_JOBS_MODEL__PROMPT_CACHE": "on"}
    home.send("One", **marked)
    before = home.run("doctor", **marked).out
    home.send("Two", **marked)
    after = home.run("doctor", **marked).out
    assert "nothing was ever reported as cached" not in before
    assert "scripted: marks are sent, and of 2 requests nothing was ever reported as cached" in after
    assert "nothing was ever reported as cached" not in home.run("doctor").out


def test_doctor_and_turns_show_say_how_prompts_are_cached(home: Home, model_server: ModelServer) -> None:
    details = {"cached_tokens": 75}
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 5,
        "total_tokens": 105,
        "prompt_tokens_details": details,
    }
    model_server.follow([Answer(text="Hi.", usage=usage)])
    turn = home.send("Hello")["turn"]
    shown = home.run("turns", "show", turn).out
    assert "100 in (75% read from the cache), 5 out" in shown
    assert "prompt caching: not at this endpoint" in shown
    marked = home.run("doctor", HERMES_JOBS_MODEL__PROMPT_CACHE="on", HERMES_JOBS_MODEL__CACHE_TTL="1h").out
    assert "prompt caching: marked, kept for 1h" in marked


def test_doctor_fails_with_code_4_where_the_key_is_missing(home: Home) -> None:
    without = home.run("doctor", OPENAI_BASE_URL="", OPENAI_API_KEY="", HERMES_JOBS_MODEL="gpt-6.1-terra")
    assert without.code == 4
    assert "OPENAI_API_KEY is not set" in without.out
