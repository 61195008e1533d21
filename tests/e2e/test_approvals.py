"""A dangerous command waits for a person, whatever dies, until it is allowed, refused or too late."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from signal import SIGKILL
from typing import Any

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree, facts_of
from tests.home import Home, Running
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import wait_until

CLEAN = AskedCall("terminal", {"command": "rm -r build"})
SCRIPT = Script(rules=(Rule("Clean", (Answer(tool_calls=(CLEAN,)), Answer(text="Clean."))),))
EXPIRES = {"HERMES_JOBS_TERMINAL__APPROVAL_SECONDS": "1"}


@pytest.fixture(autouse=True)
def a_folder_that_the_model_wants_to_delete(home: Home, model_server: ModelServer) -> None:
    (home.work / "build").mkdir()
    model_server.follow(SCRIPT)


@contextmanager
def asked(home: Home, *arguments: str, **environ: str) -> Iterator[tuple[Running, str]]:
    """A `send` that has said that its turn waits for a person; and the turn."""
    with home.start("send", "Clean up.", *arguments, **environ) as running:
        running.wait_for("Without an answer")
        yield running, running.err.partition("turns approve ")[2].split()[0]


def kill(running: Running) -> None:
    running.signal(SIGKILL)
    running.process.wait()


def is_there(home: Home) -> bool:
    return (home.work / "build").exists()


def assert_in_order(home: Home, turn: str) -> None:
    with home.open_log() as log:
        assert_all_is_done_once(log, [turn])
        assert_views_agree(log, home.path / "views")


def test_a_dangerous_command_waits_shows_everywhere_and_runs_once_it_is_allowed(home: Home) -> None:
    with asked(home) as (running, turn):
        assert "terminal rm -r build" in running.err
        assert f"hermes-jobs turns deny {turn}" in running.err
        assert [each["status"] for each in home.run("turns", "list", "--json").json] == ["waiting"]
        shown = home.turn(turn)
        assert (shown["status"], shown["steps"][-1]["outcome"]) == ("waiting", "waiting")
        assert home.run("sessions", "list", "--json").json[0]["status"] == "waiting"
        assert "waiting" in home.run("turns", "show", turn).out
        later = {each["name"]: each["later"] for each in home.run("queues", "--json").json["queues"]}
        assert later["tools"] == 1
        assert is_there(home)
        allowed = home.run("turns", "approve", turn[:6], "--no-wait")
        assert (allowed.code, allowed.out) == (0, "")
        ran = running.end()
    assert (ran.code, ran.out) == (0, "Clean.\n")
    assert not is_there(home)
    assert_in_order(home, turn)


def test_the_person_sees_the_whole_command(home: Home, model_server: ModelServer) -> None:
    lines = ["true a folder that was forgotten here " + "and nowhere else " * 20, "rm -r build"]
    call = AskedCall("terminal", {"command": "\n".join(lines)})
    model_server.follow([Answer(tool_calls=(call,))])
    with asked(home) as (running, turn):
        whole = f"terminal {lines[0]}\n    {lines[1]}\n"
        assert whole in running.err
        assert f"{turn} waits for you: {whole}" in home.run("turns", "show", turn).err


def test_the_wait_outlives_its_process_and_an_approval_continues_the_turn_without_workers(home: Home) -> None:
    with asked(home, "--json") as (running, turn):
        kill(running)
    waited = home.run("turns", "wait", turn, "--json", "--timeout", "0.2")
    assert (waited.code, waited.json["status"], waited.json["result"]) == (3, "waiting", None)
    allowed = home.run("turns", "approve", turn)
    assert (allowed.code, allowed.out) == (0, "Clean.\n")
    assert allowed.err == "No worker is alive: this process runs the turn.\n"
    assert not is_there(home)
    assert_in_order(home, turn)


def test_a_refused_command_is_never_run_and_the_model_gets_the_refusal(
    home: Home, model_server: ModelServer
) -> None:
    with asked(home) as (running, turn):
        kill(running)
    denied = home.run("turns", "deny", turn, "--json")
    assert (denied.code, denied.json["status"], denied.json["result"]) == (0, "completed", "Clean.")
    assert "refused by user" in model_server.requests[-1].messages[-1]["content"]
    again = home.run("turns", "approve", turn)
    assert (again.code, again.out) == (1, "")
    assert is_there(home)
    assert_in_order(home, turn)


def test_an_unanswered_wait_expires_and_the_turn_continues(home: Home, model_server: ModelServer) -> None:
    ran = home.run("send", "Clean up.", **EXPIRES)
    assert (ran.code, ran.out) == (0, "Clean.\n")
    assert "nobody approved" in model_server.requests[-1].messages[-1]["content"]
    assert is_there(home)


def test_an_approval_that_comes_too_late_allows_nothing(home: Home) -> None:
    with asked(home, **EXPIRES) as (running, turn):
        kill(running)
    with home.open_log() as log:
        (request,) = [fact for fact in facts_of(log) if isinstance(fact, e.ApprovalRequested)]
    wait_until(lambda: time.time() > request.expires_at, "the end of the wait")
    late = home.run("turns", "approve", turn)
    assert (late.code, late.out) == (1, "")
    assert "not approved in time" in late.err
    assert home.run("turns", "follow", turn).out == "Clean.\n"
    assert is_there(home)
    assert_in_order(home, turn)


@pytest.mark.parametrize(
    ("arguments", "by"),
    [
        (("turns", "cancel", "TURN"), "user"),
        (("send", "-c", "--if-busy", "interrupt", "--no-wait", "Rather not."), "interrupt"),
    ],
)
def test_a_cancel_and_an_interrupting_text_end_the_wait(
    home: Home, arguments: tuple[str, ...], by: str
) -> None:
    with asked(home) as (running, turn):
        assert home.run(*(turn if each == "TURN" else each for each in arguments)).code == 0
        ran = running.end()
    assert (ran.code, ran.out) == (1, "")
    assert f"Turn {turn} was cancelled." in ran.err
    listed = home.run("turns", "list", "--json").json
    ends: dict[str, Any] = {each["text"]: each["result"] for each in listed}
    assert ends == {"Clean up.": None} | (
        {"Rather not.": "You said: Rather not."} if by == "interrupt" else {}
    )
    assert home.turn(turn)["steps"][-1]["outcome"] == "interrupted"
    assert is_there(home)
    assert_in_order(home, turn)


def test_of_two_calls_each_is_answered_by_its_name(home: Home, model_server: ModelServer) -> None:
    both = (CLEAN, AskedCall("terminal", {"command": "rm -r dist"}))
    steps = (Answer(tool_calls=both), Answer(text="Half clean."))
    model_server.follow(Script(rules=(Rule("Clean", steps),)))
    (home.work / "dist").mkdir()
    with asked(home) as (running, turn):
        first, second = f"{turn}-1-0", f"{turn}-1-1"
        running.wait_for(f"turns deny {turn} --call {second}")
        assert f"turns approve {turn} --call {first}" in running.err
        kill(running)
    unnamed = home.run("turns", "approve", turn)
    assert unnamed.code == 2
    assert first in unnamed.err
    allowed = home.run("turns", "approve", turn, "--call", first)
    assert (allowed.code, allowed.out) == (0, "")  # it has done its part, and the other still waits
    assert f"hermes-jobs turns approve {turn}" in allowed.err
    assert home.turn(turn)["status"] == "waiting"
    assert not is_there(home)
    denied = home.run("turns", "deny", turn, "--call", second)
    assert (denied.code, denied.out) == (0, "Half clean.\n")
    assert (home.work / "dist").exists()
    assert_in_order(home, turn)
