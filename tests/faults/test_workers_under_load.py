"""Workers that are killed, brokers that forget, messages that come twice: under load, and nothing is lost.

The load's effects are counted outside, in a file. `FAULTS=full` makes more of each fault.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from signal import SIGINT, SIGKILL

import pytest
from redis import Redis

from hermes_jobs.kernel import events as e
from hermes_jobs.runtime.broker_address import find_broker
from hermes_jobs.settings import Paths
from tests.e2e.invariants import (
    assert_all_is_done_once,
    assert_at_most_once,
    assert_views_agree,
    counted,
    facts_of,
)
from tests.faults.crew import Crew, wait_until
from tests.faults.redis_server import RedisServer
from tests.faults.script import NOTE, write_and_read
from tests.home import Home, endpoint
from tests.model_server import ModelServer
from tests.tools.support import processes_with

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

FULL = os.environ.get("FAULTS") == "full"
KILLS = 100 if FULL else 5
BROKER_KILLS = 10 if FULL else 2
ROUNDS = 2
SESSIONS = 6


@pytest.fixture
def load(crew: Crew, model_server: ModelServer, effects: Path, request: pytest.FixtureRequest) -> Crew:
    """Two workers, of as many threads as the test asks for, and six sessions with a turn each."""
    crew.threads = getattr(request, "param", 8)
    model_server.follow(write_and_read(effects, rounds=ROUNDS))
    for number in range(2):
        crew.start_one(number)
    more(crew, SESSIONS)
    return crew


def more(crew: Crew, turns: int) -> None:
    """Further turns, every other one behind an earlier turn of its session."""
    sessions = [stream.stream.removeprefix("session-") for stream in crew.log.streams("session-")]
    for _ in range(turns):
        number = len(crew.texts)
        old = sessions[number % len(sessions)] if sessions and number % 2 else None
        crew.submit(f"text-{number}", old)


def kill_broker_of(home: Home) -> None:
    """`kill -9` the server that the home's `up` has started."""
    url = find_broker(Paths(home.path))
    assert url is not None
    with Redis.from_url(url) as redis:
        os.kill(int(redis.info("server")["process_id"]), SIGKILL)


def assert_nothing_was_lost(crew: Crew, home: Home, effects: Path) -> None:
    crew.finish()
    with home.open_log() as log:
        assert_all_is_done_once(log, crew.accepted)
        assert_views_agree(log, home.path / "views")
    known = [f"{text}-{done}" for text in crew.texts for done in range(ROUNDS)]
    assert_at_most_once(counted(effects), known)
    assert processes_with(str(effects)) == []


def test_workers_are_killed_at_random_points(
    load: Crew, home: Home, effects: Path, rng: random.Random
) -> None:
    for _ in range(KILLS):
        more(load, 4)
        load.let_happen(rng.randint(5, 80))
        victim = rng.randrange(2)
        load.kill(victim)
        load.start_one(victim)
    assert_nothing_was_lost(load, home, effects)
    died = [fact.worker for fact in facts_of(load.log) if isinstance(fact, e.StepAbandoned)]
    sys.stdout.write(f"{KILLS} kills took {len(died)} steps from {len(set(died))} workers\n")
    assert died or not FULL, "no kill hit a worker at work"


def test_the_broker_is_killed_and_comes_back_empty(
    load: Crew, broker: RedisServer, home: Home, effects: Path, rng: random.Random
) -> None:
    for _ in range(BROKER_KILLS):
        more(load, 4)
        load.let_happen(rng.randint(5, 80))
        broker.kill()
        more(load, 2)
        broker.start()
    assert_nothing_was_lost(load, home, effects)


def test_the_broker_of_an_up_is_killed_and_started_again_by_it(
    tmp_path: Path, model_server: ModelServer, effects: Path, rng: random.Random
) -> None:
    model_server.follow(write_and_read(effects, rounds=ROUNDS))
    home = Home(tmp_path, endpoint(model_server.base_url))
    (home.work / NOTE).write_text("Remember the milk.")
    with home.start("up", "--no-flower") as up, Crew([home]) as crew:
        up.wait_for("hermes-jobs is up")
        more(crew, SESSIONS)
        for _ in range(BROKER_KILLS):
            more(crew, 4)
            crew.let_happen(rng.randint(5, 80))
            kill_broker_of(home)
            more(crew, 2)
            wait_until(lambda: find_broker(Paths(home.path)) is not None, "the broker's return")
        assert_nothing_was_lost(crew, home, effects)
        assert up.err.count("The broker has ended (signal 9") == BROKER_KILLS
        up.signal(SIGINT)
        assert up.end().code == 0


@pytest.mark.parametrize("load", [2], indirect=True)  # few enough for messages to wait
def test_messages_are_doubled_and_reordered(
    load: Crew, broker: RedisServer, home: Home, effects: Path, rng: random.Random
) -> None:
    more(load, 30)
    doubled: set[bytes] = set()
    while load.log.steps():
        broker.shuffle(f"{load.log.log_id}.", rng, doubled)
        load.let_happen(1)
    assert len(doubled) > 10, "there were messages to double"
    assert_nothing_was_lost(load, home, effects)
