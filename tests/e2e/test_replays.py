"""`turns replay`: recorded calls are asked again, compared and booked, and nothing is run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.home import Home
from tests.model_script import Answer, AskedCall
from tests.model_server import ModelServer

LOOK = AskedCall(name="terminal", arguments={"command": "touch ran && echo looked"})
READ = AskedCall(name="read_file", arguments={"path": "notes.txt"})


@pytest.fixture
def turn(home: Home, model_server: ModelServer) -> str:
    """A turn with a command that leaves a file, which is taken away."""
    model_server.follow([Answer(text="I look.", tool_calls=(LOOK,)), Answer(text="It is\ndone.")])
    sent: str = home.send("Look at it")["turn"]
    (home.work / "ran").unlink()
    (home.work / "notes.txt").write_text("remember the milk")
    model_server.requests.clear()
    return sent


def replayed(home: Home, *arguments: str) -> Any:
    ran = home.run("turns", "replay", *arguments, "--json")
    assert ran.code == 0, ran
    return ran.json


def events(home: Home) -> list[dict[str, Any]]:
    return [json.loads(line) for line in home.run("events", "--json").out.splitlines()]


def test_arguments_that_differ_are_shown(home: Home, model_server: ModelServer) -> None:
    call = AskedCall(name="write_file", arguments={"path": "a.txt", "content": "tea"})
    model_server.follow([Answer(tool_calls=(call,)), Answer(text="Done.")])
    turn = home.send("Write it")["turn"]
    other = AskedCall(name="write_file", arguments={"path": "a.txt", "content": "coffee"})
    model_server.follow(
        lambda seen: Answer(tool_calls=(other,)) if seen.rounds == 0 else Answer(text="Done.")
    )
    shown = home.run("turns", "replay", turn).out
    assert "the same tools, other arguments" in shown
    assert "-→ write_file path=a.txt content=tea" in shown
    assert "+→ write_file path=a.txt content=coffee" in shown


def test_each_call_is_asked_with_the_history_that_it_had_and_nothing_runs(
    home: Home, model_server: ModelServer, turn: str
) -> None:
    before = [each for each in events(home) if each["stream"].startswith("session-")]
    again = AskedCall(name="terminal", arguments='{ "command":"touch ran \\u0026\\u0026 echo looked"}')
    sent = [home.run("turns", "show", f"{turn}-{at}", "--prompt", "--json").json for at in (1, 2)]
    asked: list[Any] = []

    def answer(seen: Any) -> Answer:
        asked.append(seen)
        return (
            Answer(text="Hm.", tool_calls=(again,)) if seen.rounds == 0 else Answer(text="It is\nnot done.")
        )

    model_server.follow(answer)
    found = replayed(home, turn)
    assert (found["turn"], found["status"], found["tools_run"]) == (turn, "completed", 0)
    first, second = found["calls"]
    assert (first["step"], first["same_calls"], first["same_arguments"]) == (f"{turn}-1", True, True)
    assert (first["diverged"], first["same_text"], found["first_divergence"]) == (False, False, None)
    assert (second["same_text"], second["diverged"]) == (False, False)
    assert second["recorded"]["content"] == "It is\ndone."
    assert second["replayed"]["content"] == "It is\nnot done."
    assert second["replayed"]["usage"]["prompt_tokens"] > 0
    assert sorted(len(each.messages) for each in asked) == [
        len(each["messages"]) + 1 for each in sent
    ]  # and the system prompt
    for each, was in zip(sorted(asked, key=lambda each: len(each.messages)), sent, strict=True):
        assert each.messages[0]["content"] == was["system_prompt"]
        assert each.messages[-1]["content"] == was["messages"][-1]["content"]
    assert not (home.work / "ran").exists()
    assert [each for each in events(home) if each["stream"].startswith("session-")] == before
    assert home.run("events", "verify").code == 0


def test_differences_are_shown_and_the_cost_is_booked_apart(
    home: Home, model_server: ModelServer, turn: str
) -> None:
    cost = home.turn(turn)["usage"]["total_tokens"]
    model_server.follow(
        lambda seen: Answer(tool_calls=(READ,)) if seen.rounds == 0 else Answer(text="It is\nnot done.")
    )
    told = home.run("turns", "replay", turn, "-m", "other", "-n", "2")
    assert (told.code, "Replay p" in told.err) == (0, True)
    assert f"{turn}-1, answer 1 of 2: other calls" in told.out
    assert "- → terminal" in told.out.replace("-→", "- →")
    assert f"{turn}-2, answer 2 of 2: another answer" in told.out
    assert "-done." in told.out.replace("- done", "-done")
    assert f"2 of 4 answers want the same to be done; the first that differs: {turn}-1;" in told.out
    assert "no tool was run" in told.out.lower()
    assert {seen.body["model"] for seen in model_server.requests} == {"other"}
    by_purpose = {
        row["purpose"]: row["requests"] for row in home.run("usage", "--by", "purpose", "--json").json
    }
    assert by_purpose["replay"] == 4
    assert home.turn(turn)["usage"]["total_tokens"] == cost
    assert not (home.work / "ran").exists()


def test_new_answers_go_on_with_recorded_results_until_something_else_is_wanted(
    home: Home, model_server: ModelServer, turn: str
) -> None:
    def answer(seen: Any) -> Answer:
        last = seen.messages[-1]
        if seen.rounds == 0:
            return Answer(tool_calls=(LOOK,))
        return Answer(tool_calls=(READ,)) if "looked" in last["content"] else Answer(text="Read.")

    model_server.follow(answer)
    stopped = replayed(home, turn, "--follow")
    assert [call["diverged"] for call in stopped["calls"]] == [False, True]
    assert (stopped["first_divergence"], stopped["tools_run"]) == (f"{turn}-2", 0)
    went_on = replayed(home, turn, "--follow", "--allow-reads")
    assert [call["step"] for call in went_on["calls"]] == [f"{turn}-1", f"{turn}-2", None]
    assert went_on["calls"][2]["replayed"]["content"] == "Read."
    assert went_on["tools_run"] == 1
    assert "remember the milk" in model_server.requests[-1].messages[-1]["content"]
    assert not (home.work / "ran").exists()


def test_another_prompt_and_one_without_an_entry_of_the_memory(home: Home, model_server: ModelServer) -> None:
    for entry in ("Likes tea.", "Lives in Rome.", "Has a cat."):
        assert home.run("memory", "add", "user", entry).code == 0
    model_server.follow(lambda _seen: Answer(text="Hello."))
    turn = home.send("Hi")["turn"]
    model_server.requests.clear()
    replayed(home, turn, "--without", "memory:2")
    prompt = model_server.requests[-1].messages[0]["content"]
    assert ("Likes tea." in prompt, "Lives in Rome." in prompt, "Has a cat." in prompt) == (True, False, True)
    prompt_file = home.work / "prompt.txt"
    prompt_file.write_text("You are brief.")
    replayed(home, turn, "--system", str(prompt_file))
    assert model_server.requests[-1].messages[0]["content"] == "You are brief."


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--without", "memory:9"), "There is no write 9"),
        (("--without", "milk"), "is not something that can be left out"),
        (("--without", "skill:nosuch"), "has no effect on turn"),
        (("--allow-reads",), "--allow-reads requires --follow"),
        (("--system", "empty.txt"), "is empty"),
        (("-n", "0"), "-n"),
    ],
)
def test_replays_without_effect_are_refused_before_anything_is_recorded(
    home: Home, turn: str, options: tuple[str, ...], told: str
) -> None:
    (home.work / "empty.txt").write_text(" ")
    ran = home.run("turns", "replay", turn, *options)
    assert (ran.code, told in ran.err) == (2, True), ran
    assert not [each for each in events(home) if each["stream"].startswith("replay-")]


def test_a_replay_over_its_budget_stops_and_continues_with_more(
    home: Home, model_server: ModelServer, turn: str
) -> None:
    model_server.follow(lambda _seen: Answer(text="Yes."))
    prices = {"HERMES_JOBS_MODELS__PRICES": json.dumps({"priced": {"input": 1000, "output": 1000}})}
    ran = home.run("turns", "replay", turn, "-m", "priced", "--budget", "0.01", **prices)
    assert (ran.code, "It was stopped" in ran.err) == (1, True), ran
    assert model_server.requests == []
    name = next(word for word in ran.err.split() if word.startswith("p") and len(word) == 14).rstrip(":")
    more = home.run("turns", "replay", name, "--budget", "100", "--json", **prices)
    assert (more.code, more.json["status"], len(more.json["calls"])) == (0, "completed", 2)
    assert home.run("turns", "replay", name, "-n", "2").code == 2
    assert home.run("events", "verify").code == 0


def test_a_deleted_session_takes_its_replays_with_it(
    home: Home, model_server: ModelServer, turn: str
) -> None:
    model_server.follow(lambda _seen: Answer(text="Zanzibar again."))
    replayed(home, turn)
    session = home.turn(turn)["session"]
    assert home.run("sessions", "delete", session, "--yes").code == 0
    assert "Zanzibar" not in home.run("events", "--json").out
    ran = home.run("turns", "replay", turn)
    assert (ran.code, "was deleted" in ran.err) == (2, True)
    assert home.run("events", "verify").code == 0


def test_it_names_what_comes_from_the_turn_and_from_the_configuration(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow([Answer(text="Hello.")])
    sent = home.run("send", "--json", "Hello", HERMES_JOBS_MODEL__REASONING_EFFORT="high").json["turn"]
    model_server.follow([Answer(text="Hello."), Answer(text="Hello.")])
    found = replayed(home, sent)
    assert found["settings"] == {
        "model": "",
        "others": [{"key": "model.reasoning_effort", "then": "high", "now": None}],
    }
    shown = home.run("turns", "replay", sent, "-m", "other").out
    assert "As recorded: the history, the system prompt, the toolsets." in shown
    assert "As configured now: descriptions of tools" in shown
    assert "model other, as asked for." in shown
    assert 'model.reasoning_effort was "high" for the turn, and is null now.' in shown
