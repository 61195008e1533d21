"""Turns with sub-agents on two workers, also where those are killed or the broker forgets.

Every end is told once, and no sub-agent waits for ever for its place.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import cast

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams import child_slots
from hermes_jobs.kernel.streams.child_slots import ChildSlots
from hermes_jobs.kernel.streams.streams import fold
from tests.e2e.invariants import (
    assert_all_is_done_once,
    assert_at_most_once,
    assert_children_ended_once,
    assert_views_agree,
    counted,
    facts_of,
)
from tests.faults.checker import violations
from tests.faults.crew import Crew
from tests.faults.redis_server import RedisServer
from tests.faults.test_workers_under_load import BROKER_KILLS, FULL, KILLS
from tests.home import Home
from tests.model_script import Action, Answer, AskedCall, Chooser, Seen
from tests.model_server import ModelServer
from tests.tools.support import processes_with

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

TURNS = 4
CHILDREN = 3


def delegating(effects: Path) -> Chooser:
    """A turn hands its tag to sub-agents, each of which writes it; every other turn waits for them."""

    def choose(seen: Seen) -> Action:
        what, _, tag = seen.last_user_text.partition(" ")
        match what, seen.rounds:
            case "write", 0:
                return Answer(tool_calls=(AskedCall("terminal", {"command": f"echo {tag} >> '{effects}'"}),))
            case "write", _:
                return Answer(text=f"Wrote {tag}.")
            case "[Sub-agent", _:
                return Answer(text="Heard.")
            case tag, 0:
                tasks = [{"goal": f"write {tag}-{number}"} for number in range(CHILDREN)]
                waits = int(tag.removeprefix("turn-")) % 2 == 0
                return Answer(tool_calls=(AskedCall("delegate", {"tasks": tasks, "wait": waits}),))
            case _:
                return Answer(text=f"Done: {what}")

    return choose


def more(crew: Crew) -> None:
    """Further turns, each in a session of its own."""
    for _ in range(TURNS):
        crew.submit(f"turn-{len(crew.texts)}")


@pytest.fixture
def load(crew: Crew, model_server: ModelServer, effects: Path) -> Crew:
    """Two workers, and the first turns."""
    model_server.follow(delegating(effects))
    for number in range(2):
        crew.start_one(number)
    more(crew)
    return crew


def assert_the_log_alone_is_in_order(home: Home) -> None:
    """By its export, without a view or a fold of the product."""
    ran = home.run("events", "--after", "0", "--json")
    assert ran.code == 0, ran
    assert violations([json.loads(line) for line in ran.out.splitlines()]) == []


def assert_every_end_was_told(crew: Crew, home: Home, effects: Path) -> None:
    crew.finish()
    assert_the_log_alone_is_in_order(home)
    with home.open_log() as log:
        assert_all_is_done_once(log, crew.accepted)
        assert_views_agree(log, home.path / "views")
        ended = assert_children_ended_once(log)
    assert ended.total() == CHILDREN * len(crew.texts)
    assert set(ended) <= {"completed", "unknown"}
    assert_at_most_once(
        counted(effects), [f"{text}-{number}" for text in crew.texts for number in range(CHILDREN)]
    )
    assert processes_with(str(effects)) == []


def test_workers_of_parents_and_children_are_killed(
    load: Crew, home: Home, effects: Path, rng: random.Random
) -> None:
    for _ in range(KILLS):
        more(load)
        load.let_happen(rng.randint(5, 120))
        victim = rng.randrange(2)
        load.kill(victim)
        load.start_one(victim)
    assert_every_end_was_told(load, home, effects)
    died = [fact for fact in facts_of(load.log) if isinstance(fact, e.StepAbandoned)]
    sys.stdout.write(f"{KILLS} kills took {len(died)} steps\n")
    assert died or not FULL, "no kill hit a worker at work"


def test_the_broker_of_parents_and_children_is_killed(
    load: Crew, broker: RedisServer, home: Home, effects: Path, rng: random.Random
) -> None:
    for _ in range(BROKER_KILLS):
        more(load)
        load.let_happen(rng.randint(5, 120))
        broker.kill()
        more(load)
        broker.start()
    assert_every_end_was_told(load, home, effects)


@pytest.mark.parametrize("kills", [0, 3])
def test_ten_turns_with_ten_sub_agents_each_share_the_places_and_none_is_left_over(
    crew: Crew, home: Home, model_server: ModelServer, rng: random.Random, kills: int
) -> None:
    def choose(seen: Seen) -> Action:
        what = seen.last_user_text
        if not what.startswith("turn-") or seen.rounds:
            return Answer(text=f"Done: {what}")
        tasks = [{"goal": f"think of {what}, {number}"} for number in range(10)]
        return Answer(tool_calls=(AskedCall("delegate", {"tasks": tasks}),))

    model_server.follow(choose)
    for number in range(2):
        crew.start_one(number)
    for number in range(10):
        crew.submit(f"turn-{number}")
    for _ in range(kills):
        crew.let_happen(rng.randint(20, 250))
        victim = rng.randrange(2)
        crew.kill(victim)
        crew.start_one(victim)
    crew.finish()
    assert_the_log_alone_is_in_order(home)
    with home.open_log() as log:
        assert_all_is_done_once(log, crew.accepted)
        assert assert_children_ended_once(log) == {"completed": 100}
        slots = ChildSlots()
        for recorded in log.read(child_slots.STREAM):
            slots = cast(ChildSlots, fold(slots, [recorded.event]))
            assert len(slots.running) <= slots.per_home
            at_once = Counter(each.root for each in slots.running)
            assert all(count <= slots.per_root for count in at_once.values())
