"""Calls that a server continues with as tasks: asked about by timers, kept over kills, ended with turns."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.e2e.test_mcp import McpHome
from tests.home import Home
from tests.mcp.test_eras import listens
from tests.model_server import ModelServer
from tests.tools.support import wait_until

SERVER = Path(__file__).parent.parent / "mcp" / "task_server.py"


class TaskHome(McpHome):
    """A home with the server of tasks, which is a process of its own."""

    port = 0

    @contextmanager
    def serving(self) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, str(SERVER), str(self.port), str(self.folder)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            wait_until(lambda: listens(self.port), "the server")
            yield process
            process.kill()

    @property
    def polls(self) -> list[e.ServerTaskPolled]:
        with self.home.open_log() as log:
            return [fact for fact in facts_of(log) if isinstance(fact, e.ServerTaskPolled)]

    @property
    def has_asked(self) -> bool:
        with self.home.open_log() as log:
            return any(isinstance(fact, e.InputRequested) for fact in facts_of(log))

    def begin(self, name: str) -> str:
        """A turn whose call became a task; nobody works on it any more."""
        self.asks_for(("tasks__work", {"name": name}))
        turn = str(self.home.send("--no-wait", "Go.")["turn"])
        with self.home.start("turns", "follow", turn) as following:
            wait_until(lambda: bool(self.polls), "a look")
            following.signal(signal.SIGKILL)
            following.process.wait()
        return turn


@pytest.fixture
def mcp(home: Home, model_server: ModelServer, tmp_path: Path) -> TaskHome:
    made = TaskHome(home, model_server, tmp_path / "server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        made.port = free.getsockname()[1]
    entry = {"url": f"http://127.0.0.1:{made.port}/mcp", "tools": {"work": {"ask": False}}}
    home.path.mkdir(exist_ok=True)
    (home.path / "config.yaml").write_text(json.dumps({"mcp_servers": {"tasks": entry}}))
    return made


@pytest.mark.slow
def test_a_task_continues_after_a_killed_worker_and_a_new_server(mcp: TaskHome) -> None:
    with mcp.serving():
        turn = mcp.begin("long")
    shown = mcp.home.run("turns", "show", turn)
    assert "at it: long" in shown.out
    (mcp.folder / "done-long").touch()
    with mcp.serving():
        waited = mcp.home.run("turns", "wait", turn)
    assert (waited.code, waited.out) == (0, "Done.\n")
    assert mcp.results == ["done long"]
    assert mcp.calls == ["begun long"]
    starts = [fact for fact in mcp.facts if isinstance(fact, e.ToolStarted)]
    assert len(starts) == 1


@pytest.mark.slow
def test_a_server_that_is_away_for_a_while_is_asked_again(mcp: TaskHome) -> None:
    with mcp.serving():
        turn = mcp.begin("long")
    (mcp.folder / "done-long").touch()
    with mcp.home.start("turns", "wait", turn) as waiting:
        wait_until(lambda: any(not poll.reached for poll in mcp.polls), "a look without an answer")
        with mcp.serving():
            assert waiting.process.wait() == 0
    assert mcp.results == ["done long"]


def test_a_cancelled_turn_cancels_its_task(mcp: TaskHome) -> None:
    with mcp.serving():
        turn = mcp.begin("long")
        mcp.home.run("turns", "cancel", turn)
        mcp.home.run("turns", "wait", turn)
    assert mcp.calls == ["begun long", "cancelled long"]
    assert mcp.home.run("turns", "show", turn, "--json").json["status"] == "cancelled"


@pytest.mark.slow
def test_a_turn_that_is_cancelled_while_it_is_worked_on_cancels_its_task(mcp: TaskHome) -> None:
    mcp.asks_for(("tasks__work", {"name": "long"}))
    with mcp.serving(), mcp.home.start("send", "Go.") as sending:
        wait_until(lambda: bool(mcp.polls), "a look")
        (turn,) = mcp.home.run("turns", "list", "--json").json
        mcp.home.run("turns", "cancel", turn["turn"])
        sending.process.wait()
    assert mcp.calls == ["begun long", "cancelled long"]


@pytest.mark.slow
def test_a_turn_that_is_cancelled_in_the_middle_of_a_poll_cancels_its_task_once(mcp: TaskHome) -> None:
    mcp.asks_for(("tasks__work", {"name": "long"}))
    with mcp.serving(), mcp.home.start("send", "Go.") as sending:
        wait_until(lambda: bool(mcp.polls), "a look")
        (mcp.folder / "hold-long").touch()
        wait_until((mcp.folder / "held-long").exists, "a poll without an answer")
        (turn,) = mcp.home.run("turns", "list", "--json").json
        mcp.home.run("turns", "cancel", turn["turn"])
        sending.process.wait()
    assert mcp.calls == ["begun long", "cancelled long"]


@pytest.mark.slow
def test_a_task_that_asks_gets_the_answer(mcp: TaskHome) -> None:
    mcp.asks_for(("tasks__work", {"name": "asks"}))
    with mcp.serving(), mcp.home.start("send", "Go.") as sending:
        wait_until(lambda: mcp.has_asked, "a question")
        (turn,) = mcp.home.run("turns", "list", "--status", "waiting", "--json").json
        assert mcp.home.run("turns", "answer", turn["turn"], "--field", "colour=red").code == 0
        assert sending.process.wait() == 0
    told = 'told asks {"action": "accept", "content": {"colour": "red"}}'
    assert mcp.calls == ["begun asks", told]
    assert mcp.results == ["done asks red"]


@pytest.mark.slow
def test_a_failed_or_forgotten_task_is_reported(mcp: TaskHome) -> None:
    mcp.asks_for(("tasks__work", {"name": "fails"}), ("tasks__work", {"name": "gone"}))
    with mcp.serving(), mcp.home.start("send", "Go.") as sending:
        wait_until(lambda: len(mcp.calls) == 2 and bool(mcp.polls), "a look at the second task")
        (mcp.folder / "task-gone").unlink()
        assert sending.process.wait() == 0
    failed, gone = mcp.results
    assert "its task has failed: out of paper" in failed
    assert "does not know its task any more: there is no task gone" in gone
    assert "What the call did is unknown" in gone
