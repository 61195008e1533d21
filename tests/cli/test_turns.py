"""`turns`: what is listed and shown, and what people can do to a turn."""

from __future__ import annotations

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.steps import next_steps
from tests.written_home import WrittenHome

RESULT_KEYS = [
    "turn",
    "session",
    "status",
    "into",
    "result",
    "error",
    "model",
    "num_model_calls",
    "num_tool_calls",
    "duration_ms",
    "usage",
    "cost_usd",
    "compressed",
    "stopped_by",
    "is_error",
    "warnings",
]
USAGE = {
    "input_tokens": 200,
    "output_tokens": 40,
    "cache_read_tokens": 100,
    "cache_write_tokens": 0,
    "reasoning_tokens": 0,
    "prompt_tokens": 300,
    "total_tokens": 340,
}


@pytest.fixture
def worked(home: WrittenHome) -> WrittenHome:
    """A home with a turn that used a tool."""
    home.submit("aa", "abc1", "list the files")
    home.prefetch("aa")
    home.reply("aa", "I look.", "terminal")
    home.run_tool("aa", "a.txt")
    home.reply("aa", "There is a.txt.")
    home.record("aa")
    return home


def test_a_turn_is_shown_as_the_object_that_send_prints_with_its_steps(worked: WrittenHome) -> None:
    shown = worked.run("turns", "show", "abc", "--json")
    assert (shown.code, shown.err) == (0, "")
    turn = shown.json
    assert list(turn) == [*RESULT_KEYS, "steps"]
    assert (turn["status"], turn["result"], turn["error"]) == ("completed", "There is a.txt.", None)
    assert (turn["num_model_calls"], turn["num_tool_calls"], turn["cost_usd"]) == (2, 1, 0.5)
    assert turn["usage"] == USAGE
    assert [(step["kind"], step["name"], step["outcome"], step["attempt"]) for step in turn["steps"]] == [
        ("model_call", "m", "ok", 1),
        ("tool_call", "terminal", "ok", 1),
        ("model_call", "m", "ok", 1),
    ]
    assert {step["worker"] for step in turn["steps"]} == {"w1"}
    assert all(step["start"] and step["end"] for step in turn["steps"])
    assert turn["steps"][1]["arguments"] == '{"command": "ls"}'


def test_a_turn_is_shown_to_people_with_its_steps_and_its_answer(worked: WrittenHome) -> None:
    shown = worked.run("turns", "show", "abc1")
    assert (shown.code, shown.err) == (0, "")
    assert "terminal" in shown.out
    assert "$0.50" in shown.out
    assert shown.out.endswith("There is a.txt.\n")
    assert "\x1b" not in shown.out


def test_turns_are_listed_newest_first(worked: WrittenHome) -> None:
    worked.submit("aa", "bcd2", "and\nnow?")
    listed = worked.run("turns", "list", "--json").json
    assert [(turn["turn"], turn["status"], turn["text"]) for turn in listed] == [
        ("bcd2", "queued", "and\nnow?"),
        ("abc1", "completed", "list the files"),
    ]
    shown = worked.run("turns", "list")
    assert "Nobody works on bcd2: no worker is alive." in shown.err
    assert "hermes-jobs turns wait bcd2" in shown.err
    assert "Not in the cost" not in shown.err
    table = shown.out.splitlines()
    assert len(table) == 3
    assert table[0].split() == ["TURN", "SESSION", "STATUS", "RATED", "WHEN", "COST", "TEXT"]
    assert table[1].endswith("and now?")
    assert [turn["turn"] for turn in worked.run("turns", "list", "-n", "1", "--json").json] == ["bcd2"]
    assert [turn["turn"] for turn in worked.run("turns", "list", "--status", "completed", "--json").json] == [
        "abc1"
    ]
    assert worked.run("turns", "list", "--session", "a", "--json").json == listed


def test_turns_of_reviews_are_listed_with_all_and_last_is_a_turn_of_the_list(worked: WrittenHome) -> None:
    worked.do(
        "rr",
        c.SubmitTurn(
            e.TurnSubmitted(
                turn="rev1",
                session="rr",
                text="Review it.",
                source="review:memory",
                opening=e.Opening(kind="review"),
            )
        ),
    )
    assert [turn["turn"] for turn in worked.run("turns", "list", "--json").json] == ["abc1"]
    everything = worked.run("turns", "list", "--all", "--json").json
    assert [turn["turn"] for turn in everything] == ["rev1", "abc1"]
    assert worked.run("turns", "show", "last", "--json").json["turn"] == "abc1"
    refused = worked.run("turns", "show", "last~1")
    assert (refused.code, refused.err) == (2, "Error: 'last~1' names nothing: there is 1 turn.\n")


def test_an_empty_list_is_a_note_and_an_empty_json_value(home: WrittenHome) -> None:
    told = home.run("turns", "list")
    assert (told.code, told.out, told.err) == (0, "", "No turns.\n")
    assert home.run("turns", "list", "--json").json == []


def test_a_prefix_that_fits_several_turns_is_a_usage_error_that_lists_them(home: WrittenHome) -> None:
    home.answered("aa", "abc1", "the first")
    home.answered("aa", "abd2", "the second")
    refused = home.run("turns", "show", "ab")
    assert (refused.code, refused.out) == (2, "")
    assert "abc1 “the first”" in refused.err
    assert "abd2 “the second”" in refused.err
    assert "Hint:" in refused.err


def test_an_unknown_turn_is_answered_with_the_nearest(home: WrittenHome) -> None:
    home.answered("aa", "abc1")
    refused = home.run("turns", "show", "abx1", "--json")
    assert (refused.code, refused.out) == (2, "")
    assert "abc1" in refused.err
    assert "Traceback" not in refused.err


def test_a_waiting_turn_is_cancelled_at_once_and_only_once(home: WrittenHome) -> None:
    home.submit("aa", "abc1")
    home.submit("aa", "abc2")
    done = home.run("turns", "cancel", "abc2")
    assert (done.code, done.out, done.err) == (0, "", "Turn abc2 is cancelled.\n")
    again = home.run("turns", "cancel", "abc2")
    assert again.code == 1
    assert "already been cancelled" in again.err


def test_a_turn_under_way_is_asked_to_stop(home: WrittenHome) -> None:
    home.submit("aa", "abc1")
    home.prefetch("aa")
    home.reply("aa", "", "terminal")
    (step,) = next_steps(home.session("aa"))
    home.do("aa", c.BeginStep(step=step.id))
    done = home.run("turns", "cancel", "abc1", "--json")
    assert (done.code, done.json["status"]) == (0, "running")
    assert home.session("aa").current.cancelled_by == "user"  # type: ignore[union-attr]


def test_a_cancelled_turn_can_be_retried_under_the_same_id(home: WrittenHome) -> None:
    home.submit("aa", "abc1")
    home.run("turns", "cancel", "abc1")
    retried = home.run("turns", "retry", "abc1", "--no-wait", "--json")
    assert (retried.code, retried.json["turn"], retried.json["status"]) == (0, "abc1", "queued")
    home.answered("bb", "xyz1")
    refused = home.run("turns", "retry", "xyz1")
    assert refused.code == 1
    assert "only failed, cancelled and stopped turns" in refused.err


@pytest.mark.parametrize(("verb", "outcome"), [("approve", "approved"), ("deny", "denied")])
def test_calls_that_wait_are_approved_or_denied_one_by_one(
    verb: str, outcome: str, home: WrittenHome
) -> None:
    home.submit("aa", "abc1")
    home.prefetch("aa")
    home.reply("aa", "", "terminal", "terminal", approval=True)
    waiting = home.run("turns", "show", "abc1")
    assert "hermes-jobs turns approve abc1" in waiting.err
    (took,) = [line for line in waiting.out.splitlines() if line.startswith("Took")]
    assert took.endswith(" so far")
    several = home.run("turns", verb, "abc1")
    assert several.code == 2
    assert "abc1-1-0, abc1-1-1" in several.err
    done = home.run("turns", verb, "abc1", "--call", "abc1-1-1", "--no-wait", "--json")
    assert (done.code, done.json["status"]) == (0, "waiting")
    assert home.run("turns", verb, "abc1", "--no-wait").code == 0
    turn = home.run("turns", "show", "abc1", "--json").json
    assert [step["outcome"] for step in turn["steps"] if step["kind"] == "tool_call"] == [outcome] * 2
    assert turn["status"] == "running"
    assert home.run("turns", verb, "abc1").code == 1


def test_turns_and_sessions_are_listed_since_a_moment(home: WrittenHome) -> None:
    home.submit("aa", "abc1", "before")
    home.recorded_at = "2026-11-22T12:00:00.000000Z"
    home.submit("bb", "abd1", "after")
    for command, name, both in (("turns", "turn", ["abd1", "abc1"]), ("sessions", "session", ["bb", "aa"])):
        for since, expected in (
            ("2026-11-21T12:00Z", both),
            ("2026-11-22T11:00Z", both[:1]),
            ("2026-11-23", []),
        ):
            listed = home.run(command, "list", "--since", since, "--json")
            assert [each[name] for each in listed.json] == expected
    refused = home.run("turns", "list", "--since", "whenever")
    assert refused.code == 2
