"""A worker that leaves, dies or freezes in the middle of its acts, and another that continues with them."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGSTOP, SIGTERM, Signals

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.runtime.broker_address import find_server
from tests.e2e.invariants import assert_all_is_done_once, counted, facts_of, history
from tests.faults.crew import Crew, wait_until
from tests.faults.redis_server import RedisServer
from tests.home import Home, Running, endpoint
from tests.model_script import Action, Answer, AskedCall, Hold, Seen
from tests.model_server import ModelServer
from tests.services import postgres_schema
from tests.tools.support import processes_with

pytestmark = pytest.mark.slow

ONLY_THE_LOCK_TELLS = {"HERMES_JOBS_WORKERS__LEASE_SECONDS": "300"}
SHORT_LEASE = {"HERMES_JOBS_WORKERS__LEASE_SECONDS": "2"}
LEASE_ON_A_BUSY_MACHINE = {"HERMES_JOBS_WORKERS__LEASE_SECONDS": "5"}
"""Waited for, and long enough that the worker which lives on does not lose its own."""


@pytest.fixture
def acts(model_server: ModelServer, effects: Path) -> ModelServer:
    """The text `think` is held by the model; `write COMMAND` runs that behind an effect; then an answer."""

    def choose(seen: Seen) -> Action:
        word, _, command = seen.last_user_text.partition(" ")
        if word == "think":
            return Hold(first="Well, ", answer=Answer(text="thought."))
        if word == "write" and not seen.rounds:
            call = AskedCall("terminal", {"command": f"echo once >> '{effects}'; {command}", "timeout": 300})
            return Answer(tool_calls=(call,))
        return Answer(text="Done.")

    model_server.follow(choose)
    return model_server


def busy(crew: Crew, acts: ModelServer, effects: Path, command: str) -> None:
    """The crew has a model call and a write under way."""
    crew.submit("think")
    crew.submit(f"write {command}")
    wait_until(lambda: counted(effects)["once"] == 1, "the write's effect")
    acts.wait_until(lambda: any(seen.last_user_text == "think" for seen in acts.requests))


def thoughts(acts: ModelServer) -> int:
    """How often the model was asked to think."""
    return sum(seen.last_user_text == "think" for seen in acts.requests)


def go_on(crew: Crew, acts: ModelServer, home: Home, effects: Path) -> list[e.Event]:
    """The model call is made again by somebody, everything ends, the write has happened once; the facts."""
    acts.wait_until(lambda: thoughts(acts) == 2)
    acts.release()
    crew.finish()
    with home.open_log() as log:
        assert_all_is_done_once(log, crew.accepted)
        facts = facts_of(log)
    assert counted(effects) == {"once": 1}
    assert processes_with(str(effects)) == []
    assert {fact.answer for fact in facts if isinstance(fact, e.TurnCompleted)} == {"Well, thought.", "Done."}
    return facts


def tell_how_long(crew: Crew, killed_at: float) -> None:
    """Write how long after the kill the model call was begun again (`pytest -rP` shows it)."""
    begun = [each for each in history(crew.log) if isinstance(each.event, e.ModelCallStarted)]
    again = next(each for each in begun if each.event.attempt == 2)  # type: ignore[attr-defined]
    seconds = datetime.fromisoformat(again.recorded_at).timestamp() - killed_at
    sys.stdout.write(f"the dead worker's model call was begun again after {seconds:.2f} s\n")


def ended(worker: Running) -> int:
    """Its exit code, once it has left."""
    return worker.end().code


@pytest.mark.parametrize("number", [SIGTERM, SIGINT])
def test_a_stopping_worker_gives_up_its_model_call_and_lets_a_write_end(
    crew: Crew, acts: ModelServer, home: Home, effects: Path, number: Signals
) -> None:
    leaving = crew.start_one(0, **ONLY_THE_LOCK_TELLS)
    (name,) = crew.names()
    go = home.work / "go"
    busy(crew, acts, effects, f"until [ -e '{go}' ]; do sleep 0.01; done; echo written")
    crew.start_one(1, **ONLY_THE_LOCK_TELLS)
    leaving.signal(number)
    acts.wait_until(lambda: thoughts(acts) == 2)
    assert name in crew.names(), "it stays among the living until its write has ended"
    go.touch()
    assert ended(leaving) == 0
    facts = go_on(crew, acts, home, effects)
    assert [fact.reason for fact in facts if isinstance(fact, e.StepAbandoned)] == ["shutdown"]
    assert ["written" in fact.content for fact in facts if isinstance(fact, e.ToolFinished)] == [True]
    assert {fact.attempt for fact in facts if isinstance(fact, e.ModelReplied)} == {1}, (
        "no attempt is counted"
    )


def test_a_write_that_takes_too_long_is_ended_so_that_the_worker_can_leave(
    crew: Crew, acts: ModelServer, home: Home, effects: Path
) -> None:
    leaving = crew.start_one(0, **ONLY_THE_LOCK_TELLS, HERMES_JOBS_WORKERS__STOP_SECONDS="0.2")
    busy(crew, acts, effects, "sleep 200")
    crew.start_one(1, **ONLY_THE_LOCK_TELLS)
    leaving.signal(SIGTERM)
    assert ended(leaving) == 0
    facts = go_on(crew, acts, home, effects)
    assert [fact.reason for fact in facts if isinstance(fact, e.StepAbandoned)] == ["shutdown", "shutdown"]
    assert [fact.reason for fact in facts if isinstance(fact, e.ToolInterrupted)] == ["unknown_outcome"]


def test_a_second_signal_ends_a_worker_at_once(
    crew: Crew, acts: ModelServer, home: Home, effects: Path
) -> None:
    leaving = crew.start_one(0, **ONLY_THE_LOCK_TELLS)
    busy(crew, acts, effects, "sleep 200")
    crew.start_one(1, **ONLY_THE_LOCK_TELLS)
    leaving.signal(SIGINT)
    acts.wait_until(lambda: acts.disconnects == 1)
    leaving.signal(SIGINT)
    assert ended(leaving) == 130
    facts = go_on(crew, acts, home, effects)
    assert [fact.reason for fact in facts if isinstance(fact, e.ToolInterrupted)] == ["unknown_outcome"]


def test_a_worker_stops_although_its_broker_does_not_answer(
    crew: Crew, broker: RedisServer, acts: ModelServer
) -> None:
    leaving = crew.start_one(0)
    crew.submit("hello")
    crew.finish()
    broker.freeze()
    leaving.signal(SIGTERM)
    assert ended(leaving) == 0
    assert crew.names() == set()


def test_a_worker_outlives_that_its_broker_is_a_replica_for_a_while(
    crew: Crew, broker: RedisServer, acts: ModelServer
) -> None:
    crew.start_one(0)
    names = crew.names()
    crew.submit("hello")
    crew.finish()
    broker.demote()
    wait_until(broker.has_refused, "the worker's coming back to its broker")
    broker.promote()
    crew.submit("and now?")
    crew.finish()
    assert crew.names() == names


def test_the_steps_of_a_dead_worker_go_on_long_before_its_lease_would_end(
    crew: Crew, acts: ModelServer, home: Home, effects: Path
) -> None:
    crew.start_one(0, **ONLY_THE_LOCK_TELLS)
    busy(crew, acts, effects, "sleep 200")
    crew.start_one(1, **ONLY_THE_LOCK_TELLS)
    crew.kill(0)
    killed_at = time.time()
    facts = go_on(crew, acts, home, effects)
    tell_how_long(crew, killed_at)
    assert [fact.reason for fact in facts if isinstance(fact, e.StepAbandoned)] == ["died", "died"]
    assert [fact.reason for fact in facts if isinstance(fact, e.ToolInterrupted)] == ["unknown_outcome"]


def test_a_worker_frozen_past_its_lease_repeats_nothing_and_continues(
    crew: Crew, acts: ModelServer, home: Home, effects: Path
) -> None:
    frozen = crew.start_one(0, **SHORT_LEASE)
    (name,) = crew.names()
    busy(crew, acts, effects, "sleep 200")
    crew.start_one(1, **SHORT_LEASE)
    frozen.signal(SIGSTOP)
    wait_until(lambda: name not in crew.names(), "the frozen one's being taken for dead")
    acts.wait_until(lambda: thoughts(acts) == 2)
    frozen.signal(SIGCONT)
    wait_until(lambda: len(crew.names()) == 2, "its coming back under another name")
    wait_until(lambda: not processes_with(str(effects)), "the end of its tool")
    go_on(crew, acts, home, effects)
    crew.kill(1)
    later = crew.submit("and now?")
    crew.finish()
    with home.open_log() as log:
        assert_all_is_done_once(log, crew.accepted)
        (end,) = [fact for fact in facts_of(log) if isinstance(fact, e.TurnCompleted) and fact.turn == later]
    assert end.answer == "Done."


def test_cancelling_reaches_a_model_call_and_a_process_of_another_worker_at_once(
    crew: Crew, acts: ModelServer, home: Home, effects: Path
) -> None:
    crew.start_one(0)
    busy(crew, acts, effects, "sleep 200")
    for turn in crew.accepted:
        assert home.run("turns", "cancel", turn).code == 0
    acts.wait_until(lambda: acts.disconnects == 1)
    wait_until(lambda: not processes_with(str(effects)), "the end of the process")
    crew.finish()
    with home.open_log() as log:
        assert_all_is_done_once(log, crew.accepted)
        facts = facts_of(log)
    assert sum(isinstance(fact, e.TurnCancelled) for fact in facts) == 2
    assert [fact.reason for fact in facts if isinstance(fact, e.ToolInterrupted)] == ["cancelled"]


@pytest.mark.postgres
def test_the_steps_of_a_dead_worker_of_another_host_go_on_when_its_lease_has_run_out(
    tmp_path: Path, acts: ModelServer, effects: Path
) -> None:
    """Two homes are two hosts: neither sees the other's lock files. They share the log and the broker."""
    effects.parent.mkdir()
    with postgres_schema() as url, RedisServer(find_server(), tmp_path) as broker:
        environ = {
            **endpoint(acts.base_url),
            **LEASE_ON_A_BUSY_MACHINE,
            "HERMES_JOBS_TERMINAL__SANDBOX_WRITABLE": f'["{effects.parent}"]',
            "HERMES_JOBS_LOG_URL": url,
            "HERMES_JOBS_BROKER_URL": broker.url,
        }
        hosts = [Home(tmp_path / name, environ) for name in ("here", "there")]
        with Crew(hosts) as crew:
            crew.start_one(0)
            busy(crew, acts, effects, "sleep 200")
            crew.start_one(1)
            crew.kill(0)
            killed_at = time.time()
            facts = go_on(crew, acts, hosts[1], effects)
            tell_how_long(crew, killed_at)
    assert [fact.reason for fact in facts if isinstance(fact, e.StepAbandoned)] == ["died", "died"]
    assert [fact.reason for fact in facts if isinstance(fact, e.ToolInterrupted)] == ["unknown_outcome"]
