"""`experiments`: past turns asked again in variants, checked, judged, compared, resumed; nothing is run."""

from __future__ import annotations

import json
from signal import SIGTERM
from typing import Any

import pytest

from tests.home import Home
from tests.model_script import Answer, AskedCall, Hold, Refuse
from tests.model_server import ModelServer
from tests.tools.support import wait_until

LOOK = AskedCall(name="terminal", arguments={"command": "echo looked"})
DESIGN: dict[str, Any] = {
    "variants": [{"name": "recorded"}, {"name": "brief", "system": "brief.txt"}],
    "samples": 2,
    "checks": [
        {"regex": "[0-9]", "name": "number"},
        {"schema": {"type": "object"}, "name": "json"},
        {"command": "grep -q brief answer.txt && touch here", "name": "command"},
    ],
    "judge": {"model": "judge", "rubric": "The shorter answer is better."},
}


@pytest.fixture
def asked(home: Home, model_server: ModelServer) -> list[str]:
    """Two turns, the first of which used a tool and was rated down."""
    model_server.follow(
        [Answer(text="I look.", tool_calls=(LOOK,)), Answer(text="Done."), Answer(text="Hi.")]
    )
    turns = [home.send("Look at it")["turn"], home.send("Hello there")["turn"]]
    assert home.run("turns", "rate", turns[0], "down").code == 0
    model_server.requests.clear()
    model_server.follow(answer)
    return turns


def answer(seen: Any) -> Answer:
    """The judge finds the brief one better; the first variant answers with numbers."""
    if seen.body["model"] == "judge":
        said = seen.messages[-1]["content"]
        return Answer(text=json.dumps({"better": "1" if "brief" in said.split("<answer-2>")[0] else "2"}))
    return Answer(text="brief" if "Be brief" in seen.messages[0]["content"] else "It took 7 days.")


def write(home: Home, **changes: Any) -> None:
    (home.work / "brief.txt").write_text("Be brief.")
    (home.work / "design.yaml").write_text(json.dumps({**DESIGN, **changes}))


def new(home: Home, *options: str, query: str = "newest:5", name: str = "first") -> Any:
    return home.run("experiments", "new", name, "--turns", query, "--variants", "design.yaml", *options)


def run(home: Home, name: str = "first", *options: str, **environ: str) -> Any:
    ran = home.run("experiments", "run", name, "--json", *options, **environ)
    assert ran.code == 0, ran
    return ran.json


def test_variants_are_asked_checked_judged_and_compared_turn_by_turn(
    home: Home, model_server: ModelServer, asked: list[str]
) -> None:
    write(home)
    made = new(home, "--json")
    assert (made.code, made.json["status"], sorted(made.json["turns"])) == (0, "new", sorted(asked)), made
    assert model_server.requests == []
    found = run(home)
    assert found["status"] == "completed"
    recorded, brief = found["variants"]
    assert (recorded["answers"], brief["answers"], recorded["missing"], brief["failed"]) == (4, 4, 0, 0)
    assert recorded["checks"] == {"number": 1.0, "json": 0.0, "command": 0.0}
    assert brief["checks"] == {"number": 0.0, "json": 0.0, "command": 1.0}
    assert recorded["messages"]["command"] == "[exit code 1]"
    assert (
        "not all answers keep command, the first one: [exit code 1]"
        in home.run("experiments", "show", "first").err
    )
    [compared] = found["compared"]
    differences = compared["differences"]
    assert compared["name"] == "brief"
    assert (differences["command"]["mean"], differences["command"]["num_pairs"]) == (1.0, 2)
    assert (differences["number"]["mean"], differences["number"]["worse"]) == (-1.0, 2)
    judged = differences["better, by the judge"]
    assert (judged["mean"], judged["low"], judged["high"], judged["p"]) == (1.0, 1.0, 1.0, 0.5)
    assert len(model_server.requests) == 8 + 4  # the last call of each turn alone, and the judge
    again = run(home)
    assert (again["variants"], len(model_server.requests)) == (found["variants"], 12)
    rows = home.run("usage", "--by", "purpose", "--json").json
    assert {row["purpose"]: row["requests"] for row in rows}["replay"] == 12
    shown = home.run("experiments", "show", "first").out
    assert "brief beside recorded" in shown
    assert "better, by the judge" in shown
    assert home.run("experiments", "show", "first", "--html", "page.html").code == 0
    page = (home.work / "page.html").read_text()
    assert "It took 7 days." in page
    assert "Completed: 2 turns" in page
    assert "another system prompt" in page
    assert "<script" not in page
    assert "first" in home.run("experiments", "list").out
    assert not (home.work / "here").exists()
    assert home.run("events", "verify").code == 0


def test_turns_are_chosen_by_a_query(home: Home, asked: list[str]) -> None:
    write(home)
    for number, (query, chosen) in enumerate(
        (("rated:down", asked[:1]), ("hello", asked[1:]), ("status:completed newest:1", asked[1:]))
    ):
        made = new(home, "--json", query=query, name=f"q{number}")
        assert (made.code, made.json["turns"]) == (0, chosen), made


IMPOSSIBLE: list[tuple[dict[str, Any], str, str]] = [
    ({}, "rated:up", "No turn fits"),
    ({}, "colour:red", "is not a valid part of a query"),
    ({}, "turn:nosuch", "There is no turn"),
    ({}, "newest:0", "needs a number of at least 1"),
    ({}, "expensive:many", "needs a number of at least 1"),
    ({}, "cost:nan", "needs an amount"),
    ({"variants": [{"name": "a"}, {"name": "b"}]}, "newest:5", "ask the same of all these turns"),
    ({"variants": [{"name": "a"}]}, "newest:5", "two variants or more"),
    ({"variants": [{"name": "a"}, {"name": "b", "without": ["skill:no"]}]}, "newest:5", "has no effect"),
    ({"variants": [{"name": "a"}, {"name": "b", "modell": "x"}]}, "newest:5", "modell"),
    ({"checks": [{"regex": "("}]}, "newest:5", "is not a regular expression"),
    ({"checks": [{"schema": {"type": "nothing"}}]}, "newest:5", "schema of a check cannot be used"),
    ({"checks": [{"regex": "a", "command": "true"}]}, "newest:5", "one of regex, schema or command"),
    ({"judge": {"model": "judge", "rubric": " "}}, "newest:5", "needs a model and a rubric"),
    ({"samples": 0}, "newest:5", "samples is 0"),
]
"""What is changed in the design, which turns are asked for, and what is said about it."""


def test_an_impossible_experiment_is_refused_and_nothing_is_recorded(home: Home, asked: list[str]) -> None:
    for changes, query, told in IMPOSSIBLE:
        write(home, **changes)
        ran = new(home, query=query)
        assert (ran.code, told in ran.err) == (2, True), ran
    assert '"experiment-' not in home.run("events", "--json").out


@pytest.mark.slow
def test_a_budget_below_one_answer_calls_nothing_and_continues_with_more(
    home: Home, model_server: ModelServer, asked: list[str]
) -> None:
    write(home, judge=None, variants=[{"name": "a"}, {"name": "b", "model": "priced"}])
    prices = {
        "HERMES_JOBS_MODELS__PRICES": json.dumps(
            {name: {"input": 1000, "output": 1000} for name in ("priced", "scripted")}
        )
    }
    assert new(home, "--budget", "0.001").code == 0
    ran = home.run("experiments", "run", "first", **prices)
    assert (ran.code, "budget is used up" in ran.err) == (1, True), ran
    assert model_server.requests == []
    assert run(home, "first", "--budget", "500", **prices)["status"] == "completed"


@pytest.mark.slow
def test_an_unreadable_judge_is_reported_and_not_counted(
    home: Home, model_server: ModelServer, asked: list[str]
) -> None:
    write(home, samples=1)
    model_server.follow(
        lambda seen: Answer(text="I like both!") if seen.body["model"] == "judge" else answer(seen)
    )
    assert new(home).code == 0
    found = run(home)
    assert found["variants"][1]["unreadable"] == 2
    assert "better, by the judge" not in found["compared"][0]["differences"]
    assert "2 judgements could not be read" in home.run("experiments", "show", "first").err


@pytest.mark.slow
def test_a_judge_that_prefers_a_position_is_reported(
    home: Home, model_server: ModelServer, asked: list[str]
) -> None:
    write(home, samples=5)
    model_server.follow(
        lambda seen: Answer(text='{"better": 1}') if seen.body["model"] == "judge" else answer(seen)
    )
    assert new(home).code == 0
    assert run(home)["judged_places"] == {"first": 10, "second": 0}
    told = home.run("experiments", "show", "first").err
    assert "preferred the answer that it saw first in 10 of 10 judgements" in told


@pytest.mark.slow
def test_a_judge_sees_which_tools_an_answer_asks_for(
    home: Home, model_server: ModelServer, asked: list[str]
) -> None:
    write(home, samples=1)

    def acting(seen: Any) -> Answer:
        brief = "Be brief" in seen.messages[0]["content"]
        return Answer(tool_calls=(LOOK,)) if brief and seen.body["model"] != "judge" else answer(seen)

    model_server.follow(acting)
    assert new(home).code == 0
    run(home)
    [said, _] = [
        each.messages[-1]["content"] for each in model_server.requests if each.body["model"] == "judge"
    ]
    assert '[It asks for the tool terminal: {"command": "echo looked"}]' in said


@pytest.mark.slow
def test_a_catastrophic_expression_fails_its_check_and_blocks_nothing(home: Home, asked: list[str]) -> None:
    write(home, samples=1, judge=None, checks=[{"regex": "(.*)*(.*)*(.*)*x$", "name": "slow"}])
    assert new(home, query="newest:1").code == 0
    found = run(home)
    assert found["variants"][0]["checks"] == {"slow": 0.0}


@pytest.mark.slow
def test_whole_turns_are_followed_and_their_last_answers_compared(
    home: Home, model_server: ModelServer, asked: list[str]
) -> None:
    write(home, samples=1, judge=None)

    def following(seen: Any) -> Answer:
        first = seen.rounds == 0 and "Look at it" in seen.last_user_text
        return Answer(tool_calls=(LOOK,)) if first else answer(seen)

    model_server.follow(following)
    assert new(home, "--follow", query="rated:down").code == 0
    found = run(home)
    assert [each["answers"] for each in found["variants"]] == [1, 1]
    assert found["variants"][1]["checks"]["command"] == 1.0
    assert len(model_server.requests) == 4


def test_turns_without_a_model_call_are_left_out_and_named(
    home: Home, model_server: ModelServer, asked: list[str]
) -> None:
    model_server.follow(lambda seen: Refuse(status=400, message="no"))
    failed = home.run("send", "Fail at it")
    assert failed.code == 1, failed
    write(home)
    made = new(home, "--json")
    assert (made.code, sorted(made.json["turns"])) == (0, sorted(asked)), made
    assert "1 turn left out: No model has answered in turn" in made.err
    alone = new(home, query="status:failed", name="second")
    assert (alone.code, "No model has answered" in alone.err) == (2, True), alone


def test_turns_are_chosen_by_their_labels(home: Home, asked: list[str]) -> None:
    write(home)
    assert home.run("turns", "label", asked[1], "hard", "Rechnungen").err == (
        f"Turn {asked[1]} has the labels hard, rechnungen.\n"
    )
    made = new(home, "--json", query="label:HARD")
    assert (made.code, made.json["turns"]) == (0, asked[1:]), made
    assert "#hard #rechnungen " in home.run("turns", "list").out
    assert "No turn fits" in new(home, query="label:soft", name="second").err


@pytest.mark.slow
def test_a_cancelled_experiment_keeps_its_running_calls_and_continues_later(
    home: Home, model_server: ModelServer, asked: list[str]
) -> None:
    write(home, judge=None, samples=20)  # more than are asked side by side
    held = Hold(answer=Answer(text="It took 7 days."))
    model_server.follow(lambda _seen: held)
    assert new(home).code == 0
    unbegun = home.run("experiments", "cancel", "first")
    assert (unbegun.code, "it has not been run yet" in unbegun.err) == (1, True), unbegun
    with home.start("experiments", "run", "first", "--json") as running:
        model_server.wait_until(lambda: len(model_server.requests) > 0)
        cancelled = home.run("experiments", "cancel", "first")
        assert (cancelled.code, cancelled.out) == (0, ""), cancelled
        assert "Experiment first is cancelled" in cancelled.err
        model_server.release()
        ended = running.end()
    assert (ended.code, ended.json["status"]) == (1, "cancelled"), ended
    assert "It continues with: hermes-jobs experiments run first\n" in ended.err
    answered = sum(each["answers"] for each in ended.json["variants"])
    assert 0 < answered == len(model_server.requests) < 80
    assert home.run("experiments", "cancel", "first").code == 0
    found = run(home)
    assert (found["status"], len(model_server.requests)) == ("completed", 80)
    done = home.run("experiments", "cancel", "first")
    assert (done.code, "every answer is there" in done.err) == (1, True), done
    assert home.run("events", "verify").code == 0


def test_without_waiting_it_is_left_to_workers(
    home: Home, model_server: ModelServer, asked: list[str]
) -> None:
    write(home, judge=None, checks=[])
    assert new(home).code == 0
    left = home.run("experiments", "run", "first", "--no-wait")
    assert (left.code, left.out) == (0, ""), left
    assert "Experiment first: 8 calls to ask." in left.err
    assert "No worker of the queue experiments is alive" in left.err
    assert model_server.requests == []
    assert home.run("experiments", "show", "first", "--json").json["status"] == "running"
    assert run(home)["status"] == "completed"
    assert "nothing to ask" in home.run("experiments", "run", "first", "--no-wait").err


@pytest.mark.slow
def test_workers_run_the_calls_of_no_wait(home: Home, model_server: ModelServer, asked: list[str]) -> None:
    write(home, judge=None, checks=[])
    assert new(home).code == 0
    with home.start("up", "--no-flower") as up:
        up.wait_for("Ctrl-C")
        left = home.run("experiments", "run", "first", "--no-wait")
        assert left.err == "Experiment first: 8 calls to ask.\n"
        wait_until(
            lambda: home.run("experiments", "show", "first", "--json").json["status"] == "completed",
            "its end",
        )
        up.signal(SIGTERM)
        assert up.end().code == 0
    assert len(model_server.requests) == 8


def test_names_are_taken_once_and_unknown_ones_are_refused(home: Home, asked: list[str]) -> None:
    write(home)
    assert new(home).code == 0
    again = new(home)
    assert (again.code, "There is an experiment 'first'" in again.err) == (2, True)
    assert new(home, name="No_Name").code == 2
    unknown = home.run("experiments", "run", "second")
    assert (unknown.code, "There is no experiment 'second'" in unknown.err) == (2, True)
