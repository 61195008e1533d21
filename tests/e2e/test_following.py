"""`turns follow`, `wait` and `retry`, the waiting of merged texts, and what is told while a turn runs."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from signal import SIGINT

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.log import EventLog
from tests.e2e.invariants import assert_all_is_done_once, facts_of
from tests.e2e.test_send_together import HELD, held
from tests.home import Home
from tests.model_script import Answer, AskedCall, Hold, Refuse, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import wait_until

ALONE = "No worker is alive: this process runs the turn.\n"
TWO = (AskedCall("terminal", {"command": "echo one"}), AskedCall("terminal", {"command": "exit 3"}))
TOOLS = Script(rules=(Rule("Both", (Answer(tool_calls=TWO), Answer(text="Both are done."))),))


def test_following_runs_the_turn_without_workers_and_distinguishes_parallel_tools(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(TOOLS)
    left = home.run("send", "--no-wait", "Both, please.")
    turn = left.out.strip()
    assert f"turns follow {turn}" in left.err
    ran = home.run("turns", "follow", turn)
    assert (ran.code, ran.out) == (0, "Both are done.\n")
    told = ran.err.removeprefix(ALONE)
    assert told != ran.err
    assert sorted(re.sub(r"[\d.]+ m?s\b", "TIME", told).splitlines()) == [
        "· terminal echo one: ok, TIME",
        "· terminal exit 3: failed, TIME: exit code 3",
    ]
    again = home.run("turns", "follow", turn)
    assert (again.code, again.out, again.err) == (
        0,
        "Both are done.\n",
        told,
    )  # as it was, with nothing done twice
    quiet = home.run("turns", "follow", turn, "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, "Both are done.\n", "")
    with home.open_log() as log:
        assert_all_is_done_once(log, [turn])


def test_piped_output_has_no_lines_of_tools(home: Home, model_server: ModelServer) -> None:
    model_server.follow(TOOLS)
    ran = home.run("send", "Both, please.")
    assert (ran.code, ran.out, ran.err) == (0, "Both are done.\n", "")


def test_followed_lines_are_the_turns_events(home: Home, model_server: ModelServer) -> None:
    model_server.follow(TOOLS)
    turn = home.send("Both, please.")["turn"]
    *lines, last = home.run("turns", "follow", turn, "--json").out.splitlines()
    assert json.loads(last)["type"] == "turn"
    logged = [json.loads(line) for line in home.run("events", "--json").out.splitlines()]
    assert [json.loads(line) for line in lines] == [
        each for each in logged if each["data"].get("turn") == turn
    ]


def test_several_follow_the_turn_that_another_process_works_on(home: Home, model_server: ModelServer) -> None:
    model_server.follow(HELD)
    with held(home, model_server) as first, ExitStack() as stack:
        turn = home.run("turns", "list", "--json").json[0]["turn"]
        follower = stack.enter_context(home.start("turns", "follow", turn))
        waiter = stack.enter_context(home.start("turns", "wait", turn, "--json"))
        follower.wait_for("No worker is alive")
        late = home.run("turns", "wait", turn, "--timeout", "0.1")
        assert (late.code, late.out) == (3, "")
        model_server.release()
        assert [each.end().code for each in (first, follower, waiter)] == [0] * 3
        assert (follower.out, waiter.end().json["result"]) == ("At last.\n", "At last.")
    assert len(model_server.requests) == 1


def test_a_follower_that_is_interrupted_leaves_the_turn_alone(home: Home, model_server: ModelServer) -> None:
    model_server.follow(HELD)
    with held(home, model_server) as first:
        turn = home.run("turns", "list", "--json").json[0]["turn"]
        with home.start("turns", "follow", turn) as follower:
            follower.wait_for("No worker is alive")
            follower.signal(SIGINT)
            ran = follower.end()
        assert ran.code == 130
        assert ran.err.count("Stopped waiting") == 1
        assert "Traceback" not in ran.err
        model_server.release()
        assert (first.end().code, first.out) == (0, "At last.\n")


def test_a_failed_turn_is_retried_under_its_id_and_waited_for(home: Home, model_server: ModelServer) -> None:
    refused = Refuse(status=401, message="No such key.")
    model_server.follow([refused, refused, Answer(text="Now."), Answer(text="Again.")])
    failed = home.run("send", "--json", "Try")
    turn = failed.json["turn"]
    assert (failed.code, failed.json["error"]["kind"]) == (4, "auth")
    assert home.run("turns", "wait", turn).code == 4
    assert home.run("turns", "retry", turn, "-q").code == 4
    ran = home.run("turns", "retry", turn)
    assert (ran.code, ran.out, ran.err) == (0, "Now.\n", ALONE)
    again = home.run("turns", "retry", turn)
    assert (again.code, again.out) == (1, "")
    other = home.send("More")["turn"]
    assert home.run("turns", "cancel", other).code == 1
    with home.open_log() as log:
        assert sum(isinstance(fact, e.TurnResumed) for fact in facts_of(log)) == 2


MERGED = {
    # A text that is handed to the running turn at its next model call; and two that become one turn after it.
    "steer": Script(rules=(Rule("wait", (Hold(answer=Answer(tool_calls=TWO[:1])), Answer(text="Unused."))),)),
    "collect": HELD,
}


@pytest.mark.parametrize("policy", MERGED)
def test_a_merged_text_is_waited_for_until_the_turn_that_took_it_in_ends(
    home: Home, model_server: ModelServer, policy: str
) -> None:
    model_server.follow(MERGED[policy])
    with held(home, model_server, "--json") as first, ExitStack() as stack, home.open_log() as log:
        others = []
        for text in ("One more thing.", "And another."):
            others.append(stack.enter_context(home.start("send", "-c", "--if-busy", policy, "--json", text)))
            wait_until(lambda: len(submitted(log)) == 1 + len(others), "the text in the log")
        model_server.release()
        begun, one, two = (each.end() for each in (first, *others))
    assert [each.code for each in (begun, one, two)] == [0] * 3
    assert "And another." in two.json["result"]
    assert (two.json["status"], two.json["result"]) == ("merged", one.json["result"])
    if policy == "steer":
        assert one.json["into"] == two.json["into"] == begun.json["turn"]
        assert (one.json["status"], one.json["result"]) == ("merged", begun.json["result"])
    else:
        assert (one.json["status"], one.json["into"], two.json["into"]) == (
            "completed",
            None,
            one.json["turn"],
        )
    shown = home.turn(two.json["turn"])
    assert (shown["status"], shown["result"]) == ("merged", two.json["result"])
    with home.open_log() as log:
        assert_all_is_done_once(log, [one.json["turn"], two.json["turn"]])


def test_the_lines_of_a_merged_text_go_on_with_the_turn_that_took_it_in(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(MERGED["steer"])
    with held(home, model_server) as first, home.open_log() as log:
        with home.start("send", "-c", "--if-busy", "steer", "--jsonl", "One more thing.") as other:
            wait_until(lambda: len(submitted(log)) == 2, "the text in the log")
            model_server.release()
            ran = other.end()
        assert first.end().code == 0
    types = [json.loads(line)["type"] for line in ran.out.splitlines()]
    assert [kind for kind in types if kind != "text"] == [
        "TurnSubmitted",
        "TurnMerged",
        "ModelCallStarted",
        "ModelReplied",
        "UsageRecorded",
        "TurnCompleted",
        "turn",
    ]


def submitted(log: EventLog) -> list[str]:
    return [fact.turn for fact in facts_of(log) if isinstance(fact, e.TurnSubmitted)]
