"""A context engine in the home makes the conversation smaller; one that cannot be had is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType

import pytest

from tests.context import minding, sliding
from tests.home import Home
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer
from tests.reviews.talker import is_flush, is_summary

SMALL = {"HERMES_JOBS_MODEL__CONTEXT_LENGTH": "16000", "HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "0"}
ENGINE = "HERMES_JOBS_CONTEXT__ENGINE"


def with_plugin(home: Home, name: str, text: str | None = None, *, package: ModuleType = sliding) -> Home:
    """The home with a package of that name among its plugins: one of the tests' engines, or this text."""
    folder = home.path / "plugins" / name
    if text is None:
        shutil.copytree(Path(package.__file__ or "").parent, folder)
    else:
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(text)
    home.path.chmod(0o700)
    return home


def rambling(seen: Seen) -> Action:
    if is_flush(seen):
        return Answer(text="Nothing to save.")
    return Answer(text=f"Answer to «{seen.last_user_text[-20:]}». " + "blah " * 2400)


def test_an_engine_in_the_home_decides_when_and_how_a_conversation_becomes_smaller(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(rambling)
    home = with_plugin(home, "sliding")
    home.environ.update({**SMALL, ENGINE: "sliding"})
    session = home.send("question 0")["session"]
    results = [home.send("-s", session, f"question {number}") for number in range(1, 4)]
    assert {result["status"] for result in results} == {"completed"}
    assert any(result["compressed"] for result in results)
    events = home.run("events", "--json").out
    assert events.count('"ContextCompressed"') >= 1
    assert sliding.NOTE.strip() in events
    assert not any(is_summary(seen) for seen in model_server.requests), "it asks no summariser"
    assert any(sliding.NOTE.strip() in str(seen.messages) for seen in model_server.requests)
    checked = home.run("doctor")
    assert "compressed at 8,000 of 16,000 tokens" in checked.out
    assert "by the engine sliding" in " ".join(checked.out.split())


def asks_its_engine(seen: Seen) -> Action:
    if seen.rounds == 0:
        return Answer(tool_calls=(AskedCall("context_used", {"unit": "tokens"}),))
    return Answer(text="Done.")


def names_of_tools(seen: Seen) -> list[str]:
    return [tool["function"]["name"] for tool in seen.body["tools"]]


def test_a_tool_of_an_engine_is_offered_run_and_refused_when_the_engine_is_gone(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(asks_its_engine)
    with_plugin(home, "minding", package=minding)
    there = {ENGINE: "minding"}
    first = home.send("how much?", "--toolsets", "files", **there)
    assert "context_used" in names_of_tools(model_server.requests[0])
    session = first["session"]
    assert f"{session} has used " in model_server.requests[1].messages[-1]["content"]
    [call] = [step for step in home.turn(first["turn"])["steps"] if step["kind"] == "tool_call"]
    assert (call["name"], call["outcome"]) == ("context_used", "ok")

    home.send("-s", session, "and now?")
    refused = model_server.requests[-1].messages[-1]["content"]
    assert "there is no tool `context_used` here" in refused
    assert "context_used" not in names_of_tools(model_server.requests[-1])


def test_an_unknown_engine_is_answered_with_those_that_there_are_before_anything_is_recorded(
    home: Home,
) -> None:
    with_plugin(home, "sliding")
    home.environ[ENGINE] = "slidng"
    ran = home.run("send", "hello")
    assert ran.code == 2
    assert "context.engine is 'slidng', and there is no such context engine" in ran.err
    assert "There are: compressor, sliding." in ran.err
    assert home.run("events", "--json").out == ""
    assert "FAIL  context" in home.run("doctor").out


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "raise RuntimeError('sk-nobody-may-ever-see-this-0123456789 is wrong')",
            "cannot be loaded: RuntimeError",
        ),
        ("provider = None", "brings no context engine"),
    ],
)
def test_an_engine_that_cannot_be_loaded_is_refused_with_the_reason(home: Home, text: str, why: str) -> None:
    with_plugin(home, "broken", text)
    home.environ[ENGINE] = "broken"
    ran = home.run("send", "hello")
    assert ran.code == 2
    assert why in ran.err
    assert "sk-nobody" not in ran.err
    assert home.run("events", "--json").out == ""
