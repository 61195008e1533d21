"""`send` as people and scripts run it, before the scripted server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree, facts_of
from tests.home import Home, Ran
from tests.model_script import Answer, AskedCall, Drop, Rule, Script
from tests.model_server import ModelServer

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 5},
}


def test_a_text_is_answered_on_standard_output_and_nothing_else_is_said(home: Home) -> None:
    ran = home.run("send", "Hello")
    assert (ran.code, ran.out, ran.err) == (0, "You said: Hello\n", "")
    with home.open_log() as log:
        assert_all_is_done_once(log, [])
        assert_views_agree(log, home.path / "views")


def test_two_commands_run_at_the_same_time_where_configured(home: Home, model_server: ModelServer) -> None:
    """Each waits for the other's sign: one after the other they would wait in vain."""
    meet = "touch {0}; until [ -e {1} ]; do :; done; echo {0} has met {1}"
    calls = tuple(AskedCall("terminal", {"command": meet.format(*pair)}) for pair in ("ab", "ba"))
    steps = (Answer(tool_calls=calls), Answer(text="They met."))
    model_server.follow(Script(rules=(Rule("meet", steps),)))
    result = home.send("Let them meet.", HERMES_JOBS_TOOLS__SERIALIZE_TERMINAL="false")
    assert (result["result"], result["num_model_calls"], result["num_tool_calls"]) == ("They met.", 2, 2)
    said = [m["content"] for m in model_server.requests[-1].messages if m["role"] == "tool"]
    assert ["a has met b" in said[0], "b has met a" in said[1]] == [True, True]
    shown = home.turn(result["turn"])["steps"]
    assert [(step["kind"], step["name"], step["outcome"]) for step in shown] == [
        ("model_call", "scripted", "ok"),
        ("tool_call", "terminal", "ok"),
        ("tool_call", "terminal", "ok"),
        ("model_call", "scripted", "ok"),
    ]


def test_json_is_the_object_that_the_interface_promises(home: Home, model_server: ModelServer) -> None:
    model_server.follow([Answer(text="Fine.", usage=USAGE)])
    result = home.send("How are you?")
    turn, session, duration = result.pop("turn"), result.pop("session"), result.pop("duration_ms")
    assert (turn[0], session[0], duration >= 0) == ("t", "s", True)
    assert result == {
        "status": "completed",
        "into": None,
        "result": "Fine.",
        "error": None,
        "model": "scripted",
        "num_model_calls": 1,
        "num_tool_calls": 0,
        "usage": {
            "input_tokens": 60,
            "output_tokens": 20,
            "cache_read_tokens": 40,
            "cache_write_tokens": 0,
            "reasoning_tokens": 5,
            "prompt_tokens": 100,
            "total_tokens": 120,
        },
        "cost_usd": None,
        "compressed": False,
        "stopped_by": None,
        "is_error": False,
        "warnings": [],
    }
    with_steps = home.turn(turn)
    assert with_steps.pop("steps")
    assert with_steps == {"turn": turn, "session": session, "duration_ms": duration, **result}


def lines_of(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.splitlines()]


def test_jsonl_is_the_turns_events_as_the_log_has_them_and_then_the_turn(home: Home) -> None:
    *lines, last = lines_of(home.run("send", "--jsonl", "--no-stream", "Hello"))
    assert last == {"type": "turn", **home.run("turns", "wait", last["turn"], "--json").json}
    assert [line["type"] for line in lines] == [
        "TurnSubmitted",
        "ContextPrefetched",
        "ModelCallStarted",
        "ModelReplied",
        "UsageRecorded",
        "TurnCompleted",
    ]
    logged = [json.loads(line) for line in home.run("events", "--json").out.splitlines()]
    assert [line for line in logged if line["type"] != "SessionStarted"] == lines
    assert {"position", "stream", "version", "type", "data", "meta", "recorded_at"} == set(lines[0])


def test_jsonl_has_the_text_in_pieces_before_the_event_with_all_of_it(
    home: Home, model_server: ModelServer
) -> None:
    said = "The quick brown fox 🦊 jumps over the lazy dog."
    model_server.follow([Drop(text="The slow"), Answer(text=said, piece=7)])
    lines = lines_of(home.run("send", "--jsonl", "Speak"))
    at = {
        kind: [n for n, line in enumerate(lines) if line["type"] == kind] for kind in ("text", "ModelReplied")
    }
    pieces = [lines[n] for n in at["text"]]
    by_attempt = {
        attempt: [piece for piece in pieces if piece["attempt"] == attempt]
        for attempt in {piece["attempt"] for piece in pieces}
    }
    assert "".join(piece["text"] for piece in by_attempt[2]) == said
    assert len(by_attempt[2]) > 1
    for told in by_attempt.values():
        assert [piece["at"] for piece in told] == [
            sum(len(piece["text"]) for piece in told[:n]) for n in range(len(told))
        ]
    assert max(at["text"]) < min(at["ModelReplied"])
    assert {(piece["turn"], piece["step"]) for piece in pieces} == {
        (lines[-1]["turn"], f"{lines[-1]['turn']}-1")
    }


@pytest.mark.parametrize(
    ("arguments", "stdin", "text"),
    [
        (("Review this.",), "a diff\n", "Review this.\n\na diff\n"),
        ((), "only piped\n", "only piped\n"),
        (("-",), "only piped\n", "only piped\n"),
        (("-f", "text.txt"), None, "from the file\n"),
        (("-f", "text.txt"), "and piped\n", "from the file\n\n\nand piped\n"),
        (("Review this.",), "", "Review this."),
    ],
)
def test_text_file_and_standard_input_make_the_text_in_that_order(
    home: Home, model_server: ModelServer, arguments: tuple[str, ...], stdin: str | None, text: str
) -> None:
    (home.work / "text.txt").write_text("from the file\n")
    ran = home.run("send", "-q", *arguments, stdin=stdin)
    assert ran.code == 0
    assert model_server.requests[0].last_user_text == text


@pytest.mark.parametrize(
    "arguments",
    [(), ("-", "-f", "-"), ("-f", "missing.txt"), ("-c", "Text"), ("--json", "--jsonl", "Text")],
)
def test_contradictory_options_are_a_usage_error_and_nothing_is_recorded(
    home: Home, arguments: tuple[str, ...]
) -> None:
    (home.work / "text.txt").write_text("from the file\n")
    ran = home.run("send", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    if home.path.exists():
        with home.open_log() as log:
            assert facts_of(log) == []


def test_a_session_is_continued_by_prefix_title_or_as_the_newest(
    home: Home, model_server: ModelServer
) -> None:
    first = home.send("One")["session"]
    assert home.run("sessions", "rename", first, "Holiday plans").code == 0
    assert home.send("-s", first[:8], "Two")["session"] == first
    assert home.send("-s", "holiday plans", "Three")["session"] == first
    assert home.send("-c", "Four")["session"] == first
    said = [m["content"] for m in model_server.requests[-1].messages if m["role"] != "system"]
    assert said == [
        *(word for text in ("One", "Two", "Three") for word in (text, f"You said: {text}")),
        "Four",
    ]
    other = home.send("Else")["session"]
    assert home.send("-c", "More")["session"] == other != first


def test_a_prefix_of_two_sessions_lists_both_and_records_nothing(home: Home) -> None:
    sessions = [home.send("One")["session"], home.send("Two")["session"]]
    ran = home.run("send", "-s", "s", "Three")
    assert ran.code == 2
    assert all(session in ran.err for session in sessions)
    with home.open_log() as log:
        assert sum(isinstance(fact, e.TurnSubmitted) for fact in facts_of(log)) == 2


def test_two_homes_never_see_each_other(home: Home, tmp_path: Path) -> None:
    home.send("Here")
    elsewhere = Home(tmp_path / "elsewhere", {**home.environ, "HERMES_JOBS_HOME": str(tmp_path / "other")})
    assert json.loads(elsewhere.run("turns", "list", "--json").out) == []


def test_an_answer_is_delivered_once_to_each_target_without_a_worker(home: Home) -> None:
    targets = ("--deliver", "file:out.md", "--deliver", "cli", "--deliver", "file:out.md")
    ran = home.run("send", "Hello", *targets, "--key", "k")
    again = home.run("send", "Hello", *targets, "--key", "k")
    assert (ran.code, ran.out, again.out) == (0, "You said: Hello\n", ran.out)
    assert f"To file:{home.work}/out.md: sent." in ran.err
    assert (home.work / "out.md").read_text().count("You said: Hello") == 1
    assert [item["target"] for item in json.loads(home.run("inbox", "list", "--json").out)] == ["cli"]
    with home.open_log() as log:
        assert_all_is_done_once(log, [])


def test_a_target_that_is_none_is_refused_before_anything_is_recorded(home: Home) -> None:
    ran = home.run("send", "Hello", "--deliver", "https://example.com")
    assert (ran.code, ran.out) == (2, "")
    assert "webhook:https://example.com" in ran.err
    assert home.run("turns", "list", "--json").out.strip() == "[]"


def test_no_wait_prints_the_id_and_the_next_process_does_the_work(home: Home) -> None:
    noted = home.run("send", "--no-wait", "Later")
    assert noted.code == 0
    turn = noted.out.strip()
    assert home.turn(turn)["status"] == "queued"
    ran = home.run("send", "Now")
    assert (ran.code, ran.out) == (0, "You said: Now\n")
    assert "1 more job" in ran.err
    assert home.turn(turn)["result"] == "You said: Later"
    with home.open_log() as log:
        assert_all_is_done_once(log, [turn])
