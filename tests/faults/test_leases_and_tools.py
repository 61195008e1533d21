"""No tool acts once others may have taken its step over: it looks at the lease while it runs."""

from __future__ import annotations

from pathlib import Path
from signal import SIGCONT, SIGSTOP

import pytest

from hermes_jobs.domain import events as e
from tests.e2e.home import Home
from tests.e2e.invariants import assert_all_is_done_once, counted, facts_of
from tests.faults.crew import Crew, wait_until
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer
from tests.tools.support import processes_with

pytestmark = pytest.mark.slow

LEASE = {"HERMES_JOBS_WORKERS__LEASE_SECONDS": "2"}
LONGER_LEASE = {"HERMES_JOBS_WORKERS__LEASE_SECONDS": "6"}


@pytest.fixture
def tools(model_server: ModelServer, effects: Path, home: Home) -> ModelServer:
    """The texts `command …` and `file` ask for a tool that writes; then comes an answer."""

    def choose(seen: Seen) -> Action:
        word, _, command = seen.last_user_text.partition(" ")
        if seen.rounds:
            return Answer(text="Done.")
        if word == "command":
            asked = AskedCall("terminal", {"command": f"echo once >> '{effects}'; {command}", "timeout": 300})
        else:
            asked = AskedCall("write_file", {"path": "written", "content": "once"})
        return Answer(tool_calls=(asked,))

    model_server.follow(choose)
    return model_server


def is_interrupted(crew: Crew) -> bool:
    """Whether the model was told that the outcome is unknown."""
    return any(isinstance(fact, e.ToolInterrupted) for fact in facts_of(crew.log))


@pytest.mark.parametrize("text", ["command true", "file"])
def test_a_worker_that_was_stopped_before_its_tool_began_does_not_run_it_when_it_wakes(
    crew: Crew, tools: ModelServer, home: Home, effects: Path, text: str
) -> None:
    stopped = crew.start_one(0, module="tests.faults.stopped", before=["ToolStarted"], **LEASE)
    (name,) = crew.names()
    crew.submit(text)
    wait_until(lambda: any(isinstance(fact, e.ToolStarted) for fact in facts_of(crew.log)), "the start")
    crew.start_one(1, **LEASE)
    wait_until(lambda: is_interrupted(crew), "its being taken over")
    crew.finish()
    stopped.signal(SIGCONT)
    wait_until(lambda: len(crew.names() - {name}) == 2, "its coming back under another name")
    crew.submit("command true")
    crew.finish()
    assert counted(effects) == {"once": 1}, "the later one's alone"
    assert not (home.work / "written").exists()
    with home.log() as log:
        assert_all_is_done_once(log, crew.accepted)


def test_the_tool_of_a_stopped_worker_ends_before_others_go_on(
    crew: Crew, tools: ModelServer, home: Home, effects: Path
) -> None:
    stopped = crew.start_one(0, **LEASE)
    crew.submit("command sleep 200")
    wait_until(lambda: counted(effects)["once"] == 1, "the command")
    crew.start_one(1, **LEASE)
    stopped.signal(SIGSTOP)
    wait_until(lambda: is_interrupted(crew), "its being taken over")
    assert processes_with(str(effects)) == []


def test_a_tool_that_takes_longer_than_a_lease_runs_while_that_is_renewed(
    crew: Crew, tools: ModelServer, home: Home, effects: Path
) -> None:
    crew.start_one(0, **LONGER_LEASE)
    crew.submit("command sleep 4; echo over")
    crew.finish()
    (result,) = [fact for fact in facts_of(crew.log) if isinstance(fact, e.ToolFinished)]
    assert result.content == "over\n"
