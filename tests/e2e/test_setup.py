"""`setup`, by its flags and on a terminal; a failure leaves nothing half written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.screen import Screen
from tests.home import Home
from tests.llm.addresses import serving
from tests.model_script import Action, Answer, AskedCall, Refuse, Seen
from tests.model_server import ModelServer

TYPED = "sk-typed-and-never-shown-0123456789"
LISTED = (200, {"object": "list", "data": [{"id": "a"}, {"id": "b"}]})


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, {})


def able(seen: Seen) -> Action:
    """A model that can do everything."""
    if seen.body.get("tools") and not seen.rounds and "write_note" in str(seen.body["tools"]):
        return Answer(tool_calls=(AskedCall("write_note", {"text": "blue"}),))
    return Answer(text="1 2 3 4 5", piece=2)


def at(server: ModelServer) -> tuple[str, ...]:
    return ("setup", "--provider", "custom", "--base-url", server.base_url)


def test_flags_alone_set_up_a_model_that_answers_from_then_on(home: Home, model_server: ModelServer) -> None:
    model_server.follow(able)

    ran = home.run(*at(model_server), "--model", "scripted")

    assert ran.code == 0, ran
    for ability in ("call", "streaming", "tools", "reasoning", "caching", "usage"):
        assert f"ok    {ability}" in ran.out
    assert "Next: `hermes-jobs chat`" in ran.out
    assert home.send("Hello")["model"] == "scripted"
    shown = home.run("config", "show", "--json").json
    assert (shown["model.provider"], shown["model.base_url"]) == ("custom", model_server.base_url)


def test_a_local_provider_is_free_of_charge_and_the_only_model_is_taken(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(able)
    ran = home.run("setup", "--provider", "llama.cpp", "--base-url", model_server.base_url)
    assert ran.code == 0, ran
    assert "ok    price      free" in ran.out
    shown = home.run("config", "show", "--json").json
    assert (shown["model.provider"], shown["model.model"]) == ("llamacpp", "scripted")
    assert home.send("Hello", HERMES_JOBS_BUDGETS__DAY_USD="1")["cost_usd"] == 0


def test_a_price_that_the_endpoint_publishes_is_used_for_its_model(
    home: Home, model_server: ModelServer
) -> None:
    # Together's form: https://docs.together.ai/reference/models-1
    model_server.follow(able)
    model_server.listed = [{"id": "scripted", "pricing": {"input": 2, "output": 8, "cached_input": 0.5}}]
    ran = home.run(*at(model_server))
    assert ran.code == 0, ran
    assert "ok    price      known: these calls cost $" in ran.out
    assert "The endpoint's price is used: $2 in, $8 out per million tokens." in ran.out
    sent = home.send("Hello", HERMES_JOBS_BUDGETS__DAY_USD="1")
    used = sent["usage"]
    assert sent["cost_usd"] == pytest.approx((used["prompt_tokens"] * 2 + used["output_tokens"] * 8) / 1e6)


def test_a_model_whose_end_is_near_is_no_default(home: Home, model_server: ModelServer) -> None:
    # OpenAI's `shutdown_date`: https://developers.openai.com/api/docs/deprecations
    model_server.follow(able)
    model_server.listed = [
        {"id": "gpt-6.1-terra", "shutdown_date": "2020-01-01"},
        {"id": "gpt-5.6-terra", "shutdown_date": None},
        {"id": "gpt-5-mini"},
    ]
    address = ("--base-url", model_server.base_url)
    ran = home.run("setup", "--provider", "openai", *address, OPENAI_API_KEY=TYPED)
    assert ran.code == 0, ran
    assert home.run("config", "get", "model.model").out.strip() == "gpt-5.6-terra"


def test_a_key_of_the_environment_is_used_and_stays_there(home: Home, model_server: ModelServer) -> None:
    model_server.follow(able)
    ran = home.run(*at(model_server), OPENAI_API_KEY=TYPED)
    assert ran.code == 0, ran
    assert "OPENAI_API_KEY is only in this environment" in ran.out
    assert not (home.path / ".env").exists()
    assert model_server.requests[0].headers["authorization"] == f"Bearer {TYPED}"
    assert TYPED not in ran.out + ran.err


@pytest.mark.parametrize(
    ("arguments", "environ", "code", "told"),
    [
        (["setup"], {}, 2, "give --provider NAME"),
        (["setup", "--provider", "opnai"], {}, 2, "there is no provider 'opnai'. The nearest is 'openai'."),
        (["setup", "--provider", "openai"], {}, 4, "OPENAI_API_KEY is not set, and OpenAI needs it."),
        (
            ["setup", "--provider", "anthropic"],
            {"OPENAI_API_KEY": "sk-ant-x12345"},
            4,
            "OPENAI_API_KEY holds what looks like a key of Anthropic.",
        ),
        (
            ["setup", "--provider", "openai"],
            {"OPENAI_API_KEY": "sk-or-x12345"},
            4,
            "OPENAI_API_KEY holds a key of OpenRouter, not of OpenAI.",
        ),
        (["setup", "--provider", "azure"], {}, 2, "give --base-url URL"),
        (["setup", "--base-url", "ftp://localhost"], {}, 2, "is not an address"),
        (["setup", "--base-url", "http://127.0.0.1:9/v1"], {}, 1, "cannot be reached"),
    ],
)
def test_an_impossible_setup_is_refused_and_nothing_is_written(
    home: Home, arguments: list[str], environ: dict[str, str], code: int, told: str
) -> None:
    ran = home.run(*arguments, **environ)
    assert ran.code == code, ran
    assert told in ran.err
    assert not (home.path / "config.yaml").exists()
    assert not (home.path / ".env").exists()


def test_a_model_that_is_not_offered_names_the_nearest(home: Home) -> None:
    with serving({"/v1/models": LISTED}) as url:
        unknown = home.run("setup", "--base-url", f"{url}/v1", "--model", "aa")
        unnamed = home.run("setup", "--base-url", f"{url}/v1")
    assert (unknown.code, unnamed.code) == (2, 2)
    assert "offers no model 'aa'. The nearest: a." in unknown.err
    assert "Name a model with --model; it offers a, b." in unnamed.err


def test_a_web_page_is_recognised_as_no_endpoint(home: Home) -> None:
    with serving({"/v1/models": (200, "<!doctype html><title>Shop</title>")}) as url:
        ran = home.run("setup", "--base-url", f"{url}/v1", "--model", "a")
    assert ran.code == 1
    assert "answers a web page ('Shop'), not an API." in ran.err


def test_a_model_that_refuses_the_try_leaves_the_configuration_as_it_was(
    home: Home, model_server: ModelServer
) -> None:
    home.path.mkdir(mode=0o700)
    (home.path / "config.yaml").write_text("# mine\nmodel: {model: old}\n")
    model_server.follow([Refuse(status=401, message=f"Incorrect API key provided: {TYPED}")])
    ran = home.run(*at(model_server), OPENAI_API_KEY=TYPED)
    assert ran.code == 4
    assert "Nothing was written." in ran.err
    assert TYPED not in ran.out + ran.err
    assert (home.path / "config.yaml").read_text() == "# mine\nmodel: {model: old}\n"


def test_existing_settings_stay_and_overriding_variables_are_named(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(able)
    home.path.mkdir(mode=0o700)
    (home.path / "config.yaml").write_text("# mine\nmodel:\n  max_tokens: 100 # short\n")
    ran = home.run(*at(model_server), HERMES_JOBS_MODEL="other")
    assert ran.code == 0, ran
    assert "The environment overrides the saved settings; unset there: HERMES_JOBS_MODEL." in ran.out
    assert "# mine\nmodel:\n  max_tokens: 100 # short\n" in (home.path / "config.yaml").read_text()


def test_on_a_terminal_everything_is_asked_and_the_key_is_not_shown(
    home: Home, model_server: ModelServer
) -> None:
    def guarded(seen: Seen) -> Action:
        right = seen.headers.get("authorization") == f"Bearer {TYPED}"
        return able(seen) if right else Refuse(status=401, message="Incorrect API key provided")

    model_server.follow(guarded)
    with Screen(home, "setup", "--base-url", model_server.base_url, "--provider", "openai") as screen:
        screen.shows("OPENAI_API_KEY (not shown)")
        screen.type("sk-ant-of-somebody-else\r")
        screen.shows("That looks like a key of Anthropic")
        screen.type(f"{TYPED}\r")
        screen.shows("Model (number or name) [scripted]")
        screen.type("scrpted\r")
        screen.shows("The nearest: scripted.")
        screen.type("1\r")
        assert screen.end() == 0, screen.text
        assert "andthekeyto" in "".join(screen.text.split())  # a long path breaks the line
        assert TYPED not in screen.text
    env = home.path / ".env"
    assert env.read_text() == f"OPENAI_API_KEY={TYPED}\n"
    assert env.stat().st_mode & 0o777 == 0o600
    assert home.send("Hello")["model"] == "scripted"
    assert home.files_holding(TYPED) == [env]


def test_a_mistyped_address_is_asked_for_again_and_needs_no_scheme(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(able)
    with Screen(home, "setup", "--provider", "custom") as screen:
        screen.shows("Address of the API")
        screen.type("ftp://host\r")
        screen.shows("is not an address")
        screen.type("127.0.0.1:9/v1\r")
        screen.shows("cannot be reached")
        screen.type(f"{model_server.base_url.removeprefix('http://')}\r")
        screen.shows("Model (number or name) [scripted]")
        screen.type("\r")
        assert screen.end() == 0, screen.text
    assert home.run("config", "get", "model.base_url").out == f"{model_server.base_url}\n"


def test_a_setup_that_is_left_in_the_middle_writes_nothing(home: Home) -> None:
    with Screen(home, "setup") as screen:
        screen.shows("Provider (number or name)")
        screen.type("1\r")
        screen.shows("OPENAI_API_KEY (not shown)")
        screen.type("\x03")
        assert screen.end() == 130, screen.text
    assert not (home.path / "config.yaml").exists()
    assert not (home.path / ".env").exists()


@pytest.mark.parametrize("provider", ["openai", "custom"])
def test_a_gateways_address_in_the_environment_gets_its_key_and_is_written(
    home: Home, model_server: ModelServer, provider: str
) -> None:
    model_server.follow(able)
    gateway = {"OPENAI_BASE_URL": f"{model_server.base_url}/", "OPENAI_API_KEY": TYPED}

    ran = home.run("setup", "--provider", provider, "--model", "scripted", **gateway)

    assert ran.code == 0, ran
    assert f"The address is the one in OPENAI_BASE_URL: {model_server.base_url}" in ran.out
    assert "The environment overrides" not in ran.out
    assert {each.headers["authorization"] for each in model_server.requests} == {f"Bearer {TYPED}"}
    assert home.run("config", "show", "--json").json["model.base_url"] == model_server.base_url


def test_the_address_of_the_messages_api_in_the_environment_gets_its_key(
    home: Home, model_server: ModelServer
) -> None:
    key = "sk-ant-of-the-gateway-0123456789"
    address = {"ANTHROPIC_BASE_URL": model_server.base_url, "ANTHROPIC_API_KEY": key}

    ran = home.run("setup", "--provider", "anthropic", "--model", "claude", **address)

    assert "api.anthropic.com" not in ran.out + ran.err
    assert f"Asking {model_server.base_url} for its models…" in ran.out


def test_an_address_given_by_hand_wins_over_that_of_the_environment(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(able)
    ran = home.run(*at(model_server), "--model", "scripted", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert ran.code == 0, ran
    assert "The environment overrides the saved settings; unset there: OPENAI_BASE_URL." in ran.out
