"""A large result is kept whole, and the model gets what it can read: on this host and on any other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.home import Home, endpoint
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer

MEGABYTES = "head -c 5000000 /dev/zero | tr '\\0' x"
SIXTY_THOUSAND = "head -c 60000 /dev/zero | tr '\\0' y"


def terminal(command: str) -> AskedCall:
    return AskedCall("terminal", {"command": command})


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer) -> Home:
    return Home(tmp_path, endpoint(model_server.base_url))


def results(server: ModelServer) -> list[str]:
    """The tool messages of the last request."""
    messages = server.requests[-1].body["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def test_five_megabytes_are_kept_whole_and_shown_in_short(home: Home, model_server: ModelServer) -> None:
    rule = Rule("big", (Answer(tool_calls=(terminal(MEGABYTES),)), Answer(text="Large.")))
    model_server.follow(Script(rules=(rule,)))
    turn = home.send("a big one")["turn"]
    (shown,) = results(model_server)
    path = f"results/{turn}-1-0.txt"
    assert shown.startswith("<persisted-output>")
    assert path in shown
    assert len(shown) < 2_500
    assert (home.path / path).read_text().count("x") == 5_000_000


def test_the_model_reads_a_kept_result_in_parts_also_where_its_file_is_missing(
    home: Home, model_server: ModelServer
) -> None:
    rule = Rule("big", (Answer(tool_calls=(terminal(MEGABYTES),)), Answer(text="Large.")))
    model_server.follow(Script(rules=(rule,)))
    first = home.send("a big one")
    path = f"results/{first['turn']}-1-0.txt"
    (home.path / path).unlink()
    read = Rule(
        "read on", (Answer(tool_calls=(AskedCall("read_file", {"path": path}),)), Answer(text="Read."))
    )
    model_server.follow(Script(rules=(read,)))
    home.send("read on", "-s", first["session"])
    assert "xxxxxxxx" in results(model_server)[-1]
    assert (home.path / path).exists()


def test_many_results_of_one_message_are_made_to_fit_together(home: Home, model_server: ModelServer) -> None:
    calls = tuple(terminal(f"{SIXTY_THOUSAND} | head -c {60_000 - at}") for at in range(5))
    model_server.follow(Script(rules=(Rule("many", (Answer(tool_calls=calls), Answer(text="Many."))),)))
    turn = home.send("many", HERMES_JOBS_MODEL__CONTEXT_LENGTH="200000")[
        "turn"
    ]  # room for what is configured
    shown = results(model_server)
    assert sum(map(len, shown)) <= 200_000
    assert [text.startswith("<persisted-output>") for text in shown] == [True, True, False, False, False]
    path = f"results/{turn}-1-0.txt"
    read = Rule(
        "read on", (Answer(tool_calls=(AskedCall("read_file", {"path": path}),)), Answer(text="Read."))
    )
    model_server.follow(Script(rules=(read,)))
    home.send("read on", "-c")
    assert "yyyyyyyy" in results(model_server)[-1]


def test_the_limits_are_the_configured_ones(home: Home, model_server: ModelServer) -> None:
    rule = Rule("big", (Answer(tool_calls=(terminal("seq 1000"),)), Answer(text="Large.")))
    model_server.follow(Script(rules=(rule,)))
    home.path.mkdir(mode=0o700)
    settings = {"HERMES_JOBS_TOOLS__RESULT_CHARS": "500", "HERMES_JOBS_TOOLS__PREVIEW_CHARS": "10"}
    home.send("a big one", **settings)
    (shown,) = results(model_server)
    assert "3,893 characters" in shown
    assert json.dumps(shown).count("\\n") < 12
