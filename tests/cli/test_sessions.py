"""`sessions`: lists, conversations, names and ends."""

from __future__ import annotations

import pytest

from tests.written_home import WrittenHome


@pytest.fixture
def two(home: WrittenHome) -> WrittenHome:
    """A home with two sessions, the second used last."""
    home.answered("aab1", "t1", "plan a trip", "To Rome?")
    home.answered("aac2", "t2", "what is left?", "Nothing.")
    return home


def test_sessions_are_listed_the_last_used_first(two: WrittenHome) -> None:
    listed = two.run("sessions", "list", "--json").json
    assert [session["session"] for session in listed] == ["aac2", "aab1"]
    first = listed[0]
    assert (first["preview"], first["status"], first["kind"]) == ("what is left?", "idle", "conversation")
    assert (first["num_turns"], first["num_messages"], first["cost_usd"]) == (1, 2, 0.25)
    assert first["usage"]["total_tokens"] == 170
    table = two.run("sessions", "list", "-n", "1").out.splitlines()
    assert len(table) == 2
    assert table[1].startswith("aac2")


def test_a_session_is_shown_with_its_conversation(two: WrittenHome) -> None:
    shown = two.run("sessions", "show", "aab", "--json").json
    assert [(each["role"], each["content"]) for each in shown["messages"]] == [
        ("user", "plan a trip"),
        ("assistant", "To Rome?"),
    ]
    text = two.run("sessions", "show", "aab").out
    assert text.index("plan a trip") < text.index("To Rome?")
    newest = two.run("sessions", "show", "aab", "-n", "1", "--json").json
    assert [each["role"] for each in newest["messages"]] == ["assistant"]


def test_control_characters_of_a_model_are_not_printed(home: WrittenHome) -> None:
    home.answered("aa", "t1", "hi", "red \x1b[31m and \x1b]0;title\x07 over\r and \u202eback")
    home.submit("bb", "t2")
    home.prefetch("bb")
    home.reply("bb", "", "look\x1b[2J\nfor")
    home.run_tool("bb", "nothing")
    assert "red  and  over and back" in home.run("sessions", "show", "aa").out
    assert "tool look for: " in home.run("sessions", "show", "bb").out


def test_a_title_names_a_session_in_any_case_and_is_unique(two: WrittenHome) -> None:
    done = two.run("sessions", "rename", "aab", "Trip to\u202e  Rome")
    assert (done.code, done.out) == (0, "")
    assert two.run("sessions", "show", "trip to rome", "--json").json["title"] == "Trip to Rome"
    taken = two.run("sessions", "rename", "aac", "TRIP TO ROME")
    assert taken.code == 1
    assert "aab1" in taken.err
    assert two.run("sessions", "rename", "aab", "Trip to Rome").code == 0


@pytest.mark.parametrize("title", ["", " \x07 ", "x" * 101])
def test_a_title_that_cannot_be_is_refused(title: str, two: WrittenHome) -> None:
    assert two.run("sessions", "rename", "aab", title).code == 2


def test_an_ambiguous_prefix_is_a_usage_error_that_lists_the_sessions(two: WrittenHome) -> None:
    refused = two.run("sessions", "show", "aa")
    assert (refused.code, refused.out) == (2, "")
    assert "aab1 “plan a trip”" in refused.err
    assert "aac2 “what is left?”" in refused.err


def test_an_ended_session_takes_no_more(two: WrittenHome) -> None:
    assert two.run("sessions", "end", "aab1", "--json").json["status"] == "ended"
    assert two.run("sessions", "end", "aab1").code == 0
    two.submit("aac2", "t9")
    busy = two.run("sessions", "end", "aac2")
    assert busy.code == 1
    assert "turns cancel t9" in busy.err
