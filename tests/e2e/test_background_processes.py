"""What the agent starts in the background, as a person finds it and ends it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL
from typing import Any
from uuid import uuid4

import pytest

from hermes_jobs.runtime.broker_address import find_server
from tests.faults.redis_server import RedisServer
from tests.home import Home
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer
from tests.tools.support import processes_with, wait_until


@pytest.fixture
def mark() -> str:
    return f"mark-{uuid4().hex}"


@pytest.fixture
def home(home: Home, model_server: ModelServer, mark: str) -> Iterator[Home]:
    """A home whose model starts a server for every text, under the name in it."""

    def serves(seen: Seen) -> Action:
        if seen.rounds:
            return Answer(text="It runs.")
        name = {"name": "dev"} if "named" in seen.last_user_text else {}
        script = "script" if "script" in seen.last_user_text else "-c 'echo serving; sleep 1000'"
        command = f"MARK={mark} sh {script}"
        return Answer(tool_calls=(AskedCall("terminal", {"command": command, "background": True, **name}),))

    model_server.follow(serves)
    yield home
    home.run("processes", "kill", "--all")
    wait_until(lambda: not processes_with(mark), "the end of everything")


def listed(home: Home) -> list[Any]:
    found: list[Any] = home.run("processes", "list", "--json").json
    return found


def test_it_outlives_send_is_found_read_and_killed(home: Home, mark: str) -> None:
    ran = home.run("send", "serve")
    assert ran.code == 0
    (found,) = listed(home)
    assert f"Continues in the background: {found['process']}, MARK=" in ran.err
    assert (found["state"], found["ends_with"]) == ("running", "session")
    table = home.run("processes", "list")
    assert "its session" in table.out
    read = home.run("processes", "read", found["process"][:6])
    assert read.out == "serving\n"
    assert home.run("processes", "kill", found["process"]).err == f"{found['process']}: stopped.\n"
    wait_until(lambda: not processes_with(mark), "the end of its keeper")
    assert listed(home) == []
    assert [each["state"] for each in home.run("processes", "list", "--all", "--json").json] == ["ended"]


def test_what_it_leaves_for_others_to_run_is_moved_away_while_it_runs_and_named(home: Home) -> None:
    envrc = home.work / ".envrc"
    waits = "until [ -e after-the-turn ]; do sleep 0.1; done"
    (home.work / "script").write_text(f"{waits}; echo evil > .envrc; sleep 1000")
    home.send("serve named, with the script")
    (home.work / "after-the-turn").touch()
    wait_until(envrc.exists, "the harm")
    wait_until(lambda: str(envrc) in home.run("processes", "list").err, "the note")
    (found,) = listed(home)
    assert f"{home.path / 'quarantine'}: {envrc}" in home.run("processes", "read", found["process"]).err


def test_it_ends_with_its_session_unless_it_has_a_name(home: Home, mark: str) -> None:
    session = home.send("serve")["session"]
    home.send("-s", session, "serve it named")
    assert len(listed(home)) == 2
    assert home.run("sessions", "end", session).code == 0
    wait_until(lambda: len(listed(home)) == 1, "the end of one")
    assert [each["name"] for each in listed(home)] == ["dev"]


def test_down_ends_all_of_them(home: Home, mark: str) -> None:
    home.send("serve")
    home.send("serve it named")
    ran = home.run("down")
    assert ran.err == "Nothing was up.\nEnded 2 background processes.\n"
    wait_until(lambda: not processes_with(mark), "the end of its keeper")


@pytest.mark.slow
def test_down_names_the_processes_that_ended_with_up(home: Home, mark: str) -> None:
    assert home.run("up", "-d", "--no-flower").code == 0
    home.send("serve")
    assert processes_with(mark)
    ran = home.run("down")
    assert (ran.code, "Ended 1 background process." in ran.err) == (0, True), ran
    wait_until(lambda: not processes_with(mark), "the end of its keeper")


@pytest.mark.slow
def test_a_killed_worker_leaves_it_to_the_home(home: Home, mark: str, tmp_path: Path) -> None:
    with RedisServer(find_server(), tmp_path) as broker:
        home.environ["HERMES_JOBS_BROKER_URL"] = broker.url
        with home.start("worker") as worker:
            worker.wait_for("ready.")
            home.send("serve")
            worker.signal(SIGKILL)
            worker.end()
    (found,) = listed(home)
    assert found["state"] == "running"
    assert len(processes_with(mark)) >= 1


def test_an_unattended_turn_leaves_no_process(home: Home, mark: str) -> None:
    ran = home.run("schedule", "add", "--in", "1s", "--task", "serve", "--yes", "--json")
    assert ran.code == 0, ran
    assert home.run("schedule", "run", ran.json["schedule"], "--wait").code == 0
    said = home.run("events", "--json", "-n", "1000").out
    assert "It ends with this request at the latest" in said
    wait_until(lambda: not processes_with(mark), "its end")


def test_ids_and_names_are_completed(home: Home, mark: str) -> None:
    home.send("serve")
    (found,) = listed(home)
    line = f"hermes-jobs processes read {found['process'][:3]}"
    done = home.run(_HERMES_JOBS_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD="3")
    assert done.out.split() == [f"plain,{found['process']}"]
    assert home.run("processes", "kill", "--all").code == 0


def test_wrong_usage_is_explained(home: Home) -> None:
    assert home.run("processes", "kill").code == 2
    unknown = home.run("processes", "kill", "nope")
    assert unknown.code == 2
    assert "There is no background process 'nope' on this host" in unknown.err
    assert "processes list" in unknown.err
    assert home.run("processes", "list").err == "No background processes.\n"
