"""The skills that come with this program, as a person and a model have them."""

from __future__ import annotations

from hermes_jobs.features.skills import BUNDLED
from tests.home import Home
from tests.model_server import ModelServer

NAMES = sorted(file.parent.name for file in BUNDLED.glob("*/*/SKILL.md"))


def test_they_are_listed_used_and_can_be_turned_off(home: Home, model_server: ModelServer) -> None:
    listed = {row["name"]: row["source"] for row in home.run("skills", "list", "--json").json}
    assert listed == dict.fromkeys(NAMES, "bundled")
    assert "bundled" in home.run("skills", "list").out
    home.send("--skill", NAMES[0], "Hello")
    assert f"Work by the skill {NAMES[0]}" in str(model_server.requests[-1].messages[-1]["content"])
    assert NAMES[0] in str(model_server.requests[-1].messages[0]["content"])
    assert home.run("config", "set", "skills.bundled", "false").code == 0
    assert home.run("skills", "list", "--json").json == []
    home.send("Hello")
    assert NAMES[0] not in str(model_server.requests[-1].messages[0]["content"])


def test_a_sessions_prompt_keeps_them_when_they_are_turned_off(home: Home, model_server: ModelServer) -> None:
    session = home.send("Hello")["session"]
    assert home.run("config", "set", "skills.bundled", "false").code == 0
    home.send("-s", session, "And now?")
    first, second = (each.messages[0] for each in model_server.requests[-2:])
    assert first == second
