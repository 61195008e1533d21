"""Searching the web from a turn: set up, asked side by side, and its key in no file but `.env`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.screen import Screen
from tests.e2e.test_setup import able
from tests.home import Home
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer
from tests.tools.search_apis import KEY, BraveApi, SearchServer, SearXNGApi, searching

TWO = (AskedCall("web_search", {"query": "tea"}), AskedCall("web_search", {"query": "coffee", "count": 2}))


@pytest.fixture
def searxng() -> Iterator[SearchServer]:
    with searching(SearXNGApi()) as server:
        yield server


@pytest.fixture
def brave() -> Iterator[SearchServer]:
    with searching(BraveApi()) as server:
        yield server


def asks_twice(seen: Seen) -> Action:
    return Answer(text="Done.") if seen.rounds else Answer(tool_calls=TWO)


def tools_of(seen: Seen) -> list[str]:
    return [each["function"]["name"] for each in seen.body.get("tools", [])]


def test_without_a_provider_there_is_no_such_tool(home: Home, model_server: ModelServer) -> None:
    home.send("Hello")
    assert "web_search" not in tools_of(model_server.requests[-1])
    assert "web_fetch" in tools_of(model_server.requests[-1])


def test_configured_providers_are_searched_in_parallel(
    home: Home, model_server: ModelServer, searxng: SearchServer
) -> None:
    ran = home.run("setup", "--search", "searx", "--search-url", f"{searxng.base_url}/")
    assert ran.code == 0, ran
    assert "SearXNG answered in" in ran.out
    assert home.run("config", "get", "web.search.base_url").out.strip() == searxng.base_url
    searxng.asked.clear()
    model_server.follow(asks_twice)

    turn = home.send("Look it up")

    assert turn["num_tool_calls"] == 2
    assert sorted(each.params["q"] for each in searxng.asked) == ["coffee", "tea"]
    results = [each["content"] for each in model_server.requests[-1].messages if each["role"] == "tool"]
    assert results[0].startswith("[8 results of SearXNG for “tea”]\n[What follows was written by others")
    assert results[1].startswith("[2 results of SearXNG for “coffee”]")
    assert "searched by SearXNG, at http" in home.run("doctor").out

    off = home.run("setup", "--search", "none")
    assert (off.code, off.out) == (0, "Web search is off.\n")


def test_the_key_is_only_in_the_env_file(
    tmp_path: Path, model_server: ModelServer, brave: SearchServer
) -> None:
    home = Home(tmp_path, {})
    model_server.follow(able)
    with Screen(home, "setup", lines=40) as screen:
        screen.shows("Provider (number or name)")
        screen.type("custom\r")
        screen.shows("Address of the API")
        screen.type(f"{model_server.base_url}\r")
        screen.shows("Model (number or name) [scripted]")
        screen.type("\r")
        screen.shows("Enable web search?")
        screen.shows("Web search (number or name) [none]")
        screen.type("\r")
        assert screen.end() == 0, screen.text
        assert "Next: `hermes-jobs chat`" in screen.text
    with Screen(home, "setup", "--search", "brave", "--search-url", brave.base_url) as screen:
        screen.shows("BRAVE_API_KEY (not shown)")
        screen.type("a-wrong-key\r")
        screen.shows("Brave Search refuses the key BRAVE_API_KEY")
        screen.type(f"{KEY}\r")
        assert screen.end() == 0, screen.text
        assert "andthekeyto" in "".join(screen.text.split())  # a long path breaks the line
        assert KEY not in screen.text
    env = home.path / ".env"
    assert env.read_text() == f"BRAVE_API_KEY={KEY}\n"
    assert env.stat().st_mode & 0o777 == 0o600

    model_server.follow(asks_twice)
    assert home.send("Look it up")["num_tool_calls"] == 2
    assert "with the key BRAVE_API_KEY" in home.run("doctor").out
    assert home.files_holding(KEY) == [env]


def test_a_failed_search_is_an_error_for_the_model_and_the_turn_continues(
    home: Home, model_server: ModelServer, brave: SearchServer
) -> None:
    model_server.follow(asks_twice)
    environ = {
        "HERMES_JOBS_WEB__SEARCH__PROVIDER": "brave",
        "HERMES_JOBS_WEB__SEARCH__BASE_URL": brave.base_url,
    }
    assert home.send("Look it up", **environ)["result"] == "Done."
    results = [each["content"] for each in model_server.requests[-1].messages if each["role"] == "tool"]
    assert results[0].startswith("Error: nothing was found: Brave Search needs a key")
    assert "tell the user" in results[0]

    assert home.send("Look it up", BRAVE_API_KEY="wrong-and-never-shown", **environ)["result"] == "Done."
    results = [each["content"] for each in model_server.requests[-1].messages if each["role"] == "tool"]
    assert "refuses the key BRAVE_API_KEY" in results[0]
    assert home.files_holding("wrong-and-never-shown") == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--search", "brav"], 2, "The nearest is 'brave'"),
        (["--search", "searxng"], 2, "give --search-url URL"),
        (["--search-url", "http://h"], 2, "--search-url requires --search"),
        (["--search", "searxng", "--search-url", "here"], 2, "is not an address"),
        (["--search", "exa"], 4, "EXA_API_KEY is not set, and Exa needs it"),
        (["--search", "searxng", "--search-url", "http://127.0.0.1:9"], 1, "SearXNG cannot be reached"),
    ],
)
def test_an_impossible_setup_is_refused_and_nothing_is_written(
    home: Home, arguments: list[str], code: int, told: str
) -> None:
    ran = home.run("setup", *arguments)
    assert ran.code == code, ran
    assert told in ran.err
    assert not (home.path / "config.yaml").exists()
    assert not (home.path / ".env").exists()


def test_doctor_tries_it_when_asked_to(home: Home, searxng: SearchServer) -> None:
    environ = {
        "HERMES_JOBS_WEB__SEARCH__PROVIDER": "searxng",
        "HERMES_JOBS_WEB__SEARCH__BASE_URL": searxng.base_url,
    }
    assert "live.web" in home.run("doctor", "--live", **environ).out
    assert searxng.asked
    searxng.api = SearXNGApi(formats=("html",))
    refused = home.run("doctor", "--live", **environ)
    assert "add `json` to `search.formats`" in refused.out
    assert refused.code == 1
