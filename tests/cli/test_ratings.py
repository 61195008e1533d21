"""Ratings: given, taken back, shown, and carried by what is exported for training."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from hermes_jobs.kernel import events as e
from tests.written_home import WrittenHome

SYSTEM = "You are an agent."


def talk(home: WrittenHome, name: str, turn: str, text: str, answer: str, *tools: str) -> None:
    home.submit(name, turn, text)
    begin = e.SessionStarted(session=name, kind="conversation", source="cli", model="m", system_prompt=SYSTEM)
    home.prefetch(name, None if home.session(name).started else begin)
    if tools:
        home.reply(name, "I look.", *tools)
        for tool in tools:
            home.run_tool(name, f"result of {tool}")
    home.reply(name, answer)
    home.record(name)


def lines(home: WrittenHome, *arguments: str) -> list[Any]:
    exported = home.run("export", "--format", *arguments, "-")
    assert (exported.code, exported.err) == (0, ""), exported
    return [json.loads(line) for line in exported.out.splitlines()]


def test_a_rating_is_shown_in_the_turn_the_list_the_json_and_the_page(home: WrittenHome) -> None:
    talk(home, "aa", "abc1", "hello", "hi")
    rated = home.run("turns", "rate", "abc", "down", "--note", "It guessed.")
    assert (rated.code, rated.out, rated.err) == (0, "", "Turn abc1 is rated down.\n")
    shown = home.run("turns", "show", "abc1").out
    assert re.search(r"^Rated +down: It guessed\.$", shown, re.MULTILINE)
    assert "down" in home.run("turns", "list").out
    (listed,) = home.run("turns", "list", "--json").json
    assert (listed["rating"], listed["rating_note"]) == ("down", "It guessed.")
    assert home.run("turns", "show", "abc1", "--html", "turn.html").code == 0
    assert "rated down: It guessed." in (home.work / "turn.html").read_text()
    took_back = home.run("turns", "rate", "abc1", "none")
    assert took_back.err == "Turn abc1 is not rated.\n"
    assert "rating" not in home.run("turns", "show", "abc1", "--json").json


def test_an_unratable_turn_is_refused_and_nothing_is_recorded(home: WrittenHome) -> None:
    home.submit("aa", "abc1")
    running = home.run("turns", "rate", "abc1", "up")
    assert (running.code, "has not ended" in running.err) == (1, True)
    unknown = home.run("turns", "rate", "nosuch", "up")
    assert (unknown.code, "no turn" in unknown.err.lower()) == (2, True)
    assert '"TurnRated"' not in home.run("events", "--json").out


def test_conversations_carry_the_ratings_of_their_turns(home: WrittenHome) -> None:
    talk(home, "aa", "t1", "hello", "hi")
    talk(home, "aa", "t2", "list", "a.txt", "terminal")
    assert "ratings" not in lines(home, "sharegpt")[0]
    assert home.run("turns", "rate", "t2", "down", "--note", "No.").code == 0
    assert lines(home, "sharegpt")[0]["ratings"] == [{"turn": "t2", "rating": "down", "note": "No."}]


def test_openai_examples_have_calls_and_tools_and_no_turns_rated_down(home: WrittenHome) -> None:
    talk(home, "aa", "t1", "hello", "hi")
    talk(home, "aa", "t2", "list", "a.txt", "terminal")
    assert home.run("turns", "rate", "t2", "down").code == 0
    (example,) = lines(home, "openai")
    said = example["messages"]
    assert [each["role"] for each in said] == [
        *("system", "user", "assistant"),
        *("user", "assistant", "tool", "assistant"),
    ]
    assert said[0]["content"] == SYSTEM
    assert [each.get("weight") for each in said if each["role"] == "assistant"] == [None, 0, 0]
    (call,) = said[4]["tool_calls"]
    assert call["type"] == "function"
    assert call["function"] == {"name": "terminal", "arguments": '{"command": "ls"}'}
    assert said[5] == {"role": "tool", "tool_call_id": call["id"], "content": "result of terminal"}
    assert "terminal" in [each["function"]["name"] for each in example["tools"]]
    (without,) = lines(home, "openai", "--no-system")
    assert without["messages"][0]["role"] == "user"


def test_a_pair_is_an_answer_rated_up_and_one_rated_down_to_the_same_text_after_the_same_messages(
    home: WrittenHome,
) -> None:
    talk(home, "aa", "t1", "What is 2+2?", "4")
    talk(home, "bb", "t2", "What is 2+2?", "5")
    talk(home, "cc", "t3", "What is 2+2?", "22")
    talk(home, "dd", "t4", "hello", "hi")
    talk(home, "dd", "t5", "What is 2+2?", "Four.")  # the same text after other messages
    assert lines(home, "preferences") == []
    for turn, rating in (("t1", "up"), ("t2", "down"), ("t5", "down")):
        assert home.run("turns", "rate", turn, rating).code == 0
    (pair,) = lines(home, "preferences")
    assert pair == {
        "input": {
            "messages": [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": "What is 2+2?"},
            ]
        },
        "preferred_output": [{"role": "assistant", "content": "4"}],
        "non_preferred_output": [{"role": "assistant", "content": "5"}],
    }
    assert home.run("turns", "rate", "t3", "down").code == 0
    assert len(lines(home, "preferences")) == 2
    assert lines(home, "preferences", "--since", "2100-01-01") == []


def test_a_turn_that_was_asked_again_in_a_fork_is_compared_with_the_first_once(home: WrittenHome) -> None:
    talk(home, "aa", "t1", "hello", "hi")
    at = home.session("aa").version
    talk(home, "aa", "t2", "again", "no")
    fork = home.run("sessions", "fork", "aa", "--at", str(at), "--json").json["session"]
    talk(home, fork, "t3", "again", "yes")
    for turn, rating in (("t1", "up"), ("t2", "down"), ("t3", "up")):
        assert home.run("turns", "rate", turn, rating).code == 0
    (pair,) = lines(home, "preferences")
    assert [each["content"] for each in pair["input"]["messages"]] == [SYSTEM, "hello", "hi", "again"]
    assert pair["preferred_output"][0]["content"] == "yes"


def test_exports_hold_no_secret_of_the_process(home: WrittenHome) -> None:
    secret = "sk-secret-of-this-process-123456"
    talk(home, "aa", "t1", "hello", f"It is {secret}.")
    for form in ("sharegpt", "openai"):
        exported = home.run("export", "--format", form, "-", OPENAI_API_KEY=secret).out
        assert (secret in exported, "[REDACTED]" in exported) == (False, True), form


@pytest.mark.parametrize(
    "secret",
    ["ghp_abcdefghijklmnopqrstuvwxyz0123456789", 'password: "hunter2-hunter2"'],
)
def test_exports_hold_no_credentials(home: WrittenHome, secret: str) -> None:
    talk(home, "aa", "t1", f"Use {secret} there", "Done.")
    for form in ("sharegpt", "openai"):
        exported = home.run("export", "--format", form, "--no-system", "-").out
        value = secret.rsplit(" ", maxsplit=1)[-1].strip('"')
        assert (value in exported, "[REDACTED]" in exported) == (False, True), form
