"""A turn that a limit stopped says so wherever it is shown, with the command that continues with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.home import Home, endpoint
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer

LOOK = Answer(tool_calls=(AskedCall("todo", {}),))
SCRIPT = Script(
    rules=(
        Rule("used all the tool calls", (Answer(text="So far: half of it."),)),
        Rule("where you were stopped", (Answer(text="All of it."),)),
        Rule("Tidy", (LOOK,)),
    ),
    default=Answer(text="Yes."),
)


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer) -> Home:
    model_server.follow(SCRIPT)
    return Home(tmp_path, {**endpoint(model_server.base_url), "HERMES_JOBS_AGENT__MAX_ITERATIONS": "1"})


def test_its_limit_and_the_command_to_continue_are_shown_with_the_answer(home: Home) -> None:
    ran = home.run("send", "Tidy up.")
    turn = home.run("turns", "list", "--json").json[0]["turn"]
    assert (ran.code, ran.out) == (0, "So far: half of it.\n")
    assert "agent.max_iterations" in ran.err
    assert f"hermes-jobs turns continue {turn}" in ran.err
    assert f"hermes-jobs turns continue {turn}" in home.run("turns", "wait", turn, "-q").err


def test_without_an_answer_it_exits_with_1(home: Home, model_server: ModelServer) -> None:
    silent = Script(rules=(Rule("used all the tool calls", (Answer(text=""),)), Rule("Tidy", (LOOK,))))
    model_server.follow(silent)
    ran = home.run("send", "--json", "Tidy up.")
    assert ran.code == 1
    assert (ran.json["status"], ran.json["stopped_by"]) == ("completed", "max_iterations")
    assert "without a closing answer" in ran.json["result"]
    assert home.run("turns", "wait", ran.json["turn"], "-q").code == 1


def test_it_is_marked_in_the_list_on_the_page_and_as_json(home: Home, tmp_path: Path) -> None:
    turn = home.run("send", "--json", "Tidy up.").json
    home.run("send", "Hello")
    assert (turn["status"], turn["stopped_by"]) == ("completed", "max_iterations")
    listed = home.run("turns", "list", "--status", "stopped")
    assert f"{turn['turn']}" in listed.out
    assert " stopped " in listed.out
    assert "completed" not in listed.out
    assert f"turns continue {turn['turn']}" in home.run("turns", "show", turn["turn"]).err
    page = tmp_path / "turn.html"
    home.run("turns", "show", turn["turn"], "--html", str(page))
    assert '<span class="pill stopped">stopped</span>' in page.read_text(encoding="utf-8")


def test_it_continues_under_the_same_id_with_its_history(home: Home, model_server: ModelServer) -> None:
    turn = home.run("send", "--json", "Tidy up.").json["turn"]
    continued = home.run("turns", "continue", turn)
    assert (continued.code, continued.out) == (0, "All of it.\n")
    assert "turns continue" not in continued.err
    asked = model_server.requests[-1].messages
    assert [each["content"] for each in asked if each["role"] == "assistant"][-1] == "So far: half of it."
    assert home.turn(turn)["stopped_by"] is None
    assert home.run("events", "verify").code == 0


def test_a_turn_that_was_not_stopped_is_refused_and_nothing_is_recorded(home: Home) -> None:
    turn = home.run("send", "--json", "Hello").json["turn"]
    before = home.run("events", "--json").out
    refused = home.run("turns", "continue", turn)
    assert refused.code == 1
    assert "no limit stopped it" in refused.err
    assert home.run("events", "--json").out == before
