"""What was learned is told at the next terminal, once, with how to take it back; pipes swallow nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.screen import Screen
from tests.home import Home
from tests.model_script import Answer, AskedCall
from tests.model_server import ModelServer

NUDGED = {"HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "1"}
TEA = AskedCall("memory", {"action": "add", "target": "user", "content": "Likes tea, without sugar."})
SKILL = "---\nname: tea\ndescription: How tea is made here.\n---\n\nBoil water first."
MAKING = AskedCall("skill_manage", {"action": "create", "name": "tea", "content": SKILL})
TOLD = "Learned meanwhile: “Likes tea, without sugar.” (take it back:"


@pytest.fixture
def learned(home: Home, model_server: ModelServer) -> Home:
    """A home in which a review after a piped turn has learned something, and further turns were piped."""
    review = (Answer(tool_calls=(TEA, MAKING)), Answer(text="Noted."))
    model_server.follow([Answer(text="Yes."), *review, *[Answer(text="Fine.")] * 9])
    home.run("send", "I like tea.", **NUDGED)
    return home


def on_a_terminal(home: Home, *arguments: str) -> str:
    with Screen(home, *arguments, columns=120) as screen:
        screen.end()
        return screen.text


@pytest.mark.slow
def test_it_lists_learned_items_with_the_command_to_undo(learned: Home) -> None:
    assert "Learned" not in learned.run("send", "And so?").err
    told = on_a_terminal(learned, "send", "Hello")
    assert f"{TOLD} hermes-jobs memory undo 1)" in told
    assert "the skill tea (take it back: hermes-jobs skills undo tea)" in told
    assert "Learned" not in on_a_terminal(learned, "send", "Hello again")
    assert learned.run("memory", "undo", "1").code == 0


@pytest.mark.slow
def test_one_key_turns_it_off(learned: Home) -> None:
    learned.run("config", "set", "display.news", "false")
    assert "Learned" not in on_a_terminal(learned, "send", "Hello")


@pytest.mark.slow
def test_an_answer_that_came_meanwhile_is_one_line(home: Home, tmp_path: Path) -> None:
    assert "Meanwhile" not in on_a_terminal(home, "send", "Hello")
    home.run("schedule", "add", "--yes", "--deliver", "cli", "--in", "30 minutes", "--task", "Say it.")
    (plan,) = home.run("schedule", "list", "--json").json
    home.run("schedule", "run", plan["schedule"], "--wait")
    told = on_a_terminal(home, "send", "Hello")
    assert "Meanwhile: 1 unread answer (hermes-jobs inbox read)" in told
    assert "unread" not in on_a_terminal(home, "send", "Hello")
