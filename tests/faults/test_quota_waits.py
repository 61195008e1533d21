"""A turn that waits for a quota outlives every process: the wait is a timer in the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.steps import Step
from tests.e2e.invariants import assert_all_is_done_once, facts_of
from tests.faults.crew import Crew, wait_until
from tests.home import Home, Ran
from tests.model_script import Answer, Refuse, Script
from tests.model_server import ModelServer

TWO_HOURS = 7200.0
USED_UP = Refuse(status=429, message="Usage limit reached.", headers={"retry-after": f"{TWO_HOURS:.0f}"})
SHIFTED = "tests.faults.shifted"


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """A file that says by how many seconds clocks are wrong."""
    file = tmp_path / "clock"
    file.write_text("0")
    return file


@pytest.fixture
def used_up(model_server: ModelServer) -> ModelServer:
    """A provider whose quota is used up at the first request, and never again."""
    model_server.follow(Script(sequence=(USED_UP,), default=Answer(text="At last.")))
    return model_server


def run(home: Home, clock: Path, *arguments: str) -> Ran:
    with home.launch(SHIFTED, str(clock), *arguments) as running:
        return running.end()


@pytest.mark.slow
def test_a_single_process_says_until_when_it_waits_and_another_continues(
    home: Home, clock: Path, used_up: ModelServer
) -> None:
    sent = run(home, clock, "send", "Hello")
    assert sent.code == 3
    assert "The quota of" in sent.err
    assert "continues when a worker is available" in sent.err
    (row,) = home.run("turns", "list", "--json").json
    assert row["status"] == "waiting"
    assert row["waits_until"]
    assert "waiting until" in home.run("turns", "list").out
    assert "turns retry" in home.run("turns", "show", row["turn"]).err
    too_early = run(home, clock, "turns", "wait", row["turn"], "--json")
    assert (too_early.code, too_early.json["status"]) == (3, "waiting")
    assert len(used_up.requests) == 1

    clock.write_text(str(TWO_HOURS + 5))
    after = run(home, clock, "turns", "wait", row["turn"], "--json")

    assert (after.code, after.json["result"]) == (0, "At last.")
    assert "waits_until" not in after.json
    assert len(used_up.requests) == 2


@pytest.mark.slow
def test_the_wait_outlives_its_worker_and_is_ended_once(
    crew: Crew, home: Home, clock: Path, used_up: ModelServer
) -> None:
    crew.start_one(0, module=SHIFTED, before=(str(clock),))
    turn = crew.submit("Hello")
    wait_until(lambda: any(step.not_before > 0 for step in steps(crew)), "the timer")
    crew.kill(0)
    (timer,) = steps(crew)
    clock.write_text(str(TWO_HOURS + 5))
    for number in (1, 2):
        crew.start_one(number, module=SHIFTED, before=(str(clock),))
    crew.finish()
    with home.open_log() as log:
        assert_all_is_done_once(log, [turn])
        facts = facts_of(log)
    assert timer.id == f"{turn}-1"
    assert [fact.answer for fact in facts if isinstance(fact, e.TurnCompleted)] == ["At last."]
    assert len(used_up.requests) == 2


@pytest.mark.slow
def test_a_wait_of_a_worker_whose_clock_was_ahead_ends_with_the_next_worker(
    crew: Crew, home: Home, clock: Path, used_up: ModelServer
) -> None:
    clock.write_text("86400")
    crew.start_one(0, module=SHIFTED, before=(str(clock),))
    turn = crew.submit("Hello")
    wait_until(lambda: any(step.not_before > 0 for step in steps(crew)), "the timer")
    crew.kill(0)
    crew.start_one(1)
    crew.finish()
    with home.open_log() as log:
        assert_all_is_done_once(log, [turn])
        ended = [fact.by for fact in facts_of(log) if isinstance(fact, e.WaitEnded)]
    assert ended == ["clock"]
    assert len(used_up.requests) == 2


def steps(crew: Crew) -> list[Step]:
    return [row.step for row in crew.log.steps()]
