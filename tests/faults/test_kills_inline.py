"""`kill -9` of a process that works on its own turn, at every append and in the middle of its acts."""

from __future__ import annotations

from pathlib import Path
from signal import SIGCONT, SIGSTOP

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.log import EventLog
from tests.e2e.invariants import (
    RESULTS,
    assert_all_is_done_once,
    assert_at_most_once,
    assert_views_agree,
    counted,
    facts_of,
)
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends, finish, installed
from tests.faults.script import write_and_read
from tests.home import Home
from tests.model_script import Answer, Hold, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import processes_with, wait_until


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_turn_survives_a_kill_at_every_one_of_its_appends(
    home: Home, model_server: ModelServer, effects: Path, moment: Moment
) -> None:
    model_server.follow(write_and_read(effects))
    sends = Sends()
    tags = []
    with installed(home) as application:
        code, at = KILLED, 0
        while code == KILLED:
            at += 1
            tags.append(tag := f"{moment}-{at}")
            code = sends.run(home.environ, home.work, [tag], at, moment)
            wait_until(lambda: not processes_with(str(effects)), "the end of the killed one's tools")
            finish(application)
            _assert_done(application, tag)
        assert code == 0
        assert len(tags) > 10, "a turn has more appends than that"
        assert_all_is_done_once(application.log, [])
        assert_at_most_once(counted(effects), [f"{tag}-0" for tag in tags])
        assert_views_agree(application.log, home.path / "views")
        assert application.log.workers() == []


def _assert_done(application: Application, tag: str) -> None:
    """The turn was not accepted at all, or it was completed, each of its calls with one result."""
    facts = facts_of(application.log)
    turns = [fact.turn for fact in facts if isinstance(fact, e.TurnSubmitted) and fact.text == tag]
    if not turns:
        return
    (turn,) = turns
    ends = [fact for fact in facts if isinstance(fact, (e.TurnCompleted, e.TurnFailed)) and fact.turn == turn]
    assert [type(end) for end in ends] == [e.TurnCompleted]
    results = [fact.call for fact in facts if isinstance(fact, RESULTS) and fact.turn == turn]
    assert sorted(results) == [f"{turn}-1-0", f"{turn}-1-1"]


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_write_ends_it_and_it_is_never_begun_again(
    home: Home, model_server: ModelServer, effects: Path
) -> None:
    model_server.follow(write_and_read(effects, meanwhile="sleep 300 & sleep 300"))
    with home.start("send", "half") as running:
        wait_until(lambda: counted(effects)["half-0"] == 1, "the write's effect")
        assert processes_with(str(effects))
        running.process.kill()
        wait_until(lambda: not processes_with(str(effects)), "the end of the killed one's tools")
    with installed(home) as application:
        finish(application)
        _assert_done(application, "half")
        assert_all_is_done_once(application.log, [])
        facts = facts_of(application.log)
    assert counted(effects) == {"half-0": 1}
    writes = [fact.call for fact in facts if isinstance(fact, e.ToolStarted) and fact.effect == "write"]
    # The read's step is among them where it had been begun.
    abandoned = [fact for fact in facts if isinstance(fact, e.StepAbandoned)]
    assert [fact.step for fact in abandoned if fact.step in writes] == writes
    assert {fact.reason for fact in abandoned} == {"died"}
    assert [fact.reason for fact in facts if isinstance(fact, e.ToolInterrupted)] == ["unknown_outcome"]
    told = [m["content"] for m in model_server.requests[-1].messages if m["role"] == "tool"]
    assert "Look before you repeat it" in told[0]
    assert "Remember the milk" in told[1]


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_model_call_is_made_good_by_calling_again(
    home: Home, model_server: ModelServer
) -> None:
    held = Rule("wait", (Hold(first="I begin", answer=Answer(text="At last.")),))
    model_server.follow(Script(rules=(held,)))
    with home.start("send", "Please wait.") as running:
        model_server.wait_until(lambda: len(model_server.requests) == 1)
        running.process.kill()
        model_server.wait_until(lambda: model_server.disconnects == 1)
    model_server.release()
    other = home.send("Another")
    with home.open_log() as log:
        assert_all_is_done_once(log, [other["turn"]])
        attempts = [fact.attempt for fact in facts_of(log) if isinstance(fact, e.ModelReplied)]
    assert sorted(attempts) == [1, 2]


@pytest.mark.slow
def test_a_send_frozen_past_its_lease_continues_its_turn(home: Home, model_server: ModelServer) -> None:
    """Another `send`, with a turn of its own, sees that the first one's lease has ended."""
    model_server.follow(
        Script(rules=(Rule("wait", (Hold(first="I begin", answer=Answer(text="At last.")),)),))
    )
    short = {"HERMES_JOBS_WORKERS__LEASE_SECONDS": "2"}
    with home.start("send", "Please wait.", **short) as frozen, home.open_log() as log:
        model_server.wait_until(lambda: len(model_server.requests) == 1)
        with home.start("send", "And wait.", **short) as other:
            model_server.wait_until(lambda: len(model_server.requests) == 2)
            frozen.signal(SIGSTOP)
            wait_until(lambda: _was_abandoned(log), "the frozen one's being taken for dead")
            frozen.signal(SIGCONT)
            model_server.wait_until(lambda: len(model_server.requests) == 3)
            model_server.release()
            assert (frozen.end().code, other.end().code) == (0, 0)
        assert_all_is_done_once(log, [])


def _was_abandoned(log: EventLog) -> bool:
    return any(isinstance(fact, e.StepAbandoned) for fact in facts_of(log))
