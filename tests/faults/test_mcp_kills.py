"""Processes that call a tool of an MCP server are killed: nothing is called twice, nothing is left.

A question of the server is not lost, and for one answer the call is made once at most.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.home import Home, endpoint
from tests.mcp.conftest import SERVER
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import processes_with, wait_until

ASKING = SERVER.with_name("asking_server.py")
KILLS = 100 if os.environ.get("FAULTS") == "full" else 4
LONGEST = 3.0  # seconds after which a process is killed, at most


@pytest.mark.slow
@pytest.mark.timeout(1800)  # a hundred kills on a busy machine
def test_a_call_is_made_once_at_most_and_nothing_is_left(tmp_path: Path, model_server: ModelServer) -> None:
    home, server = Home(tmp_path, endpoint(model_server.base_url)), tmp_path / "server"
    server.mkdir()
    home.path.mkdir()
    entry = {
        "command": sys.executable,
        "args": ["-I", "-S", str(SERVER)],
        "env": {"MCP_TEST": str(server), "DEAF": "1"},
        "writable": [str(server)],
        "tools": {"note": {"ask": False}},
    }
    (home.path / "config.yaml").write_text(json.dumps({"mcp_servers": {"test": entry}}))
    calls = {at: AskedCall("test__note", {"text": f"{at}."}) for at in range(KILLS)}
    rules = [
        Rule(f"Write {at}.", (Answer(tool_calls=(call,)), Answer(text="Done."))) for at, call in calls.items()
    ]
    model_server.follow(Script(rules=tuple(rules)))
    chance = random.Random(KILLS)
    for at in calls:
        with home.start("send", f"Write {at}.") as running:
            threading.Event().wait(chance.uniform(0.0, LONGEST))
            running.signal(signal.SIGKILL)
            running.process.wait()
    with home.open_log() as log:
        turns = [fact.turn for fact in facts_of(log) if isinstance(fact, e.TurnSubmitted)]
    for turn in turns:
        home.run("turns", "wait", turn)
    with home.open_log() as log:
        ended = [fact.turn for fact in facts_of(log) if isinstance(fact, e.TurnCompleted)]
        replies = [fact for fact in facts_of(log) if isinstance(fact, e.ModelReplied)]
    assert {planned.effect for reply in replies for planned in reply.plan} == {"write"}
    assert sorted(ended) == sorted(turns)
    file = server / "calls"
    made = file.read_text().splitlines() if file.exists() else []
    assert len(made) == len(set(made))
    wait_until(lambda: processes_with(str(tmp_path)) == [], "nothing that works for this home")


@pytest.mark.slow
@pytest.mark.timeout(1800)  # a hundred kills on a busy machine
def test_a_question_survives_and_each_answer_makes_one_call_at_most(
    tmp_path: Path, model_server: ModelServer
) -> None:
    home, server = Home(tmp_path, endpoint(model_server.base_url)), tmp_path / "server"
    server.mkdir()
    home.path.mkdir()
    entry = {
        "command": sys.executable,
        "args": [str(ASKING)],
        "env": {"MCP_TEST": str(server)},
        "writable": [str(server)],
        "tools": {"book": {"ask": False}},
    }
    (home.path / "config.yaml").write_text(json.dumps({"mcp_servers": {"new": entry}}))
    rules = [
        Rule(f"Book {at}.", (Answer(tool_calls=(_booking(at),)), Answer(text="Done."))) for at in range(KILLS)
    ]
    model_server.follow(Script(rules=tuple(rules)))
    chance = random.Random(KILLS)
    for at in range(KILLS):
        turn = home.send("--no-wait", f"Book {at}.")["turn"]
        _follow_and_kill(home, turn, chance)
        with home.start("turns", "follow", turn) as following:
            asked = _wait_for(home, turn, "waiting", "completed")
            following.signal(signal.SIGKILL)
            following.process.wait()
        if asked == "waiting":
            answered = home.run(
                "turns", "answer", turn, "--field", "seat=12A", "--field", "bags=1", "--no-wait"
            )
            assert answered.code == 0, answered.err
            _follow_and_kill(home, turn, chance)
        assert home.run("turns", "wait", turn).code == 0
    made = (server / "calls").read_text().splitlines() if (server / "calls").exists() else []
    assert len(made) == len(set(made)), made
    with home.open_log() as log:
        facts = list(facts_of(log))
    answers = [fact.call for fact in facts if isinstance(fact, e.InputAnswered)]
    booked = [line for line in made if line.startswith("booked")]
    assert len(answers) == len(set(answers))
    assert len(booked) <= len(answers)
    starts = Counter((fact.call, fact.attempt) for fact in facts if isinstance(fact, e.ToolStarted))
    assert set(starts.values()) == {1}
    wait_until(lambda: processes_with(str(tmp_path)) == [], "nothing that works for this home")


def _booking(at: int) -> AskedCall:
    return AskedCall("new__book", {"flight": f"LX{at}"})


def _follow_and_kill(home: Home, turn: str, chance: random.Random) -> None:
    with home.start("turns", "follow", turn) as following:
        threading.Event().wait(chance.uniform(0.0, LONGEST))
        following.signal(signal.SIGKILL)
        following.process.wait()


def _wait_for(home: Home, turn: str, *wanted: str) -> str:
    """The turn's status, once it is one of those."""
    found: list[str] = []

    def look() -> bool:
        found.append(str(home.run("turns", "show", turn, "--json").json["status"]))
        return found[-1] in wanted

    wait_until(look, f"one of {wanted}")
    return found[-1]
