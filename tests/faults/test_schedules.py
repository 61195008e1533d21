"""Beats and workers that are killed, clocks that jump, a broker that goes away: each due time has one run."""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.features.schedules.rules.commands import Add, Pause
from hermes_jobs.features.schedules.rules.schedule import Schedule, stream_of
from hermes_jobs.features.schedules.rules.timing import rule_of
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.streams.decision import DecisionResult, StreamEvents
from hermes_jobs.settings import load
from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree, facts_of
from tests.faults.crew import PATIENCE, Crew, wait_until
from tests.faults.dying import MOMENTS, PRELOADED, Moment, die_at
from tests.faults.redis_server import RedisServer
from tests.home import Home, Running
from tests.planning.world import HOUR, MINUTE, PLAN

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROUNDS = 40 if os.environ.get("FAULTS") == "full" else 8
SCHEDULES = ("p1", "p2", "p3")
BACK = 20 * 5 * MINUTE
"""So long ago the schedules of a test were due for the first time."""


@pytest.fixture
def rng() -> random.Random:
    """Chance; a failed test shows its seed."""
    seed = random.SystemRandom().randrange(2**32)
    sys.stdout.write(f"seed {seed}\n")
    return random.Random(seed)


class Beats:
    """Up to so many beats, by number, and clocks that can be shifted. All ends with the `with`."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._running: dict[int, Running] = {}

    def __enter__(self) -> Beats:
        return self

    def __exit__(self, *_error: object) -> None:
        with ExitStack() as stack:
            for running in self._running.values():
                stack.push(running)

    def clock(self, number: int) -> Path:
        """What shifts the clock of that number."""
        file = self._home.work / f"clock-{number}"
        if not file.exists():
            file.write_text("0")
        return file

    def slowest(self) -> float:
        """By how many seconds the slowest of the two clocks is wrong."""
        return min(float(self.clock(number).read_text() or 0) for number in range(2))

    def start(self, number: int) -> Running:
        """Start a beat by the clock of its number."""
        self.kill(number)
        running = self._home.launch("tests.faults.shifted", str(self.clock(number)), "beat")
        self._running[number] = running
        running.wait_for("beat: Starting")
        return running

    def kill(self, number: int) -> None:
        """`kill -9` one, if it runs."""
        if number in self._running:
            self._running.pop(number).__exit__()


@pytest.fixture
def beats(home: Home, crew: Crew) -> Iterator[Beats]:
    with Beats(home) as beats:
        yield beats


def add(crew: Crew, name: str, next_due: float, **changes: object) -> None:
    """A schedule that is due for the first time when the test wants it."""
    plan = replace(PLAN, name=name, timing="*/5 * * * *", deliver=(), **changes)
    added = schedules_events.ScheduleAdded(schedule=name, plan=plan, by="user", next_due=next_due)
    change = DecisionResult(writes=(StreamEvents(stream_of(name), (added,)),))
    crew.application.engine().change(lambda load: change, "test")


def state(crew: Crew, name: str) -> Schedule:
    found = crew.application.engine().state(stream_of(name))
    assert isinstance(found, Schedule)
    return found


def of(log: EventLog, name: str, kind: type[e.Event]) -> list[e.Event]:
    facts = (recorded.event for recorded in log.read(stream_of(name)))
    return [fact for fact in facts if isinstance(fact, kind)]


def let_happen(crew: Crew, beats: Beats, events: int) -> None:
    """Wait until so many more events stand in the log, or nothing is due by the slowest clock."""
    until = crew.log.last_position() + events

    def rests() -> bool:
        now = crew.application.clock.now() + beats.slowest()
        return all(row.owner is None and row.step.not_before > now for row in crew.log.steps())

    wait_until(lambda: crew.log.last_position() >= until or rests(), f"{events} events")


def finish(crew: Crew, names: tuple[str, ...]) -> None:
    """Wait until nothing is due any more; then let the schedules rest, and their runs end."""
    now = crew.application.clock.now

    def has_caught_up(name: str) -> bool:
        schedule = state(crew, name)
        return not schedule.queued and (schedule.next_due is None or schedule.next_due > now())

    wait_until(lambda: all(has_caught_up(name) for name in names), "the schedules to catch up")
    for name in names:
        if state(crew, name).status == "active":
            crew.application.engine().change(Pause(schedule=name, now=now()), "test")
    crew.finish()


def assert_each_due_time_had_its_own(crew: Crew, name: str, first: float) -> None:
    """One run for each due time, or one word on why it had none, from the first to the next."""
    schedule = state(crew, name)
    assert schedule.plan is not None
    rule = rule_of(schedule.plan)
    fired = [
        fact.due
        for fact in of(crew.log, name, schedules_events.ScheduleFired)
        if isinstance(fact, schedules_events.ScheduleFired)
    ]
    missed = [
        due
        for fact in of(crew.log, name, schedules_events.ScheduleMissed)
        if isinstance(fact, schedules_events.ScheduleMissed)
        for due in takewhile(lambda due: due <= (fact.until or fact.due), rule.following(fact.due))  # noqa: B023
    ]
    next_due = schedule.next_due
    expected = list(takewhile(lambda due: next_due is None or due < next_due, rule.following(first)))
    assert sorted([*fired, *missed]) == expected
    turns = [
        fact.turn
        for fact in facts_of(crew.log)
        if isinstance(fact, e.TurnSubmitted) and fact.source == f"schedule:{name}"
    ]
    assert len(turns) == len(fired)


@pytest.mark.nightly
def test_beats_and_workers_are_killed_and_their_clocks_jump_both_ways(
    crew: Crew, beats: Beats, home: Home, rng: random.Random
) -> None:
    now = crew.application.clock.now()
    first = now - BACK - now % (5 * MINUTE)
    for name, overlap in zip(SCHEDULES, ("parallel", "queue", "skip"), strict=True):
        add(crew, name, first, missed="all", overlap=overlap)
    for number in range(2):
        crew.start_one(number, module="tests.faults.shifted", before=(str(beats.clock(number)),))
        beats.start(number)
    for _ in range(ROUNDS):
        let_happen(crew, beats, rng.randint(5, 60))
        clock = beats.clock(rng.randrange(2))
        clock.write_text(str(rng.choice([-HOUR, 0.0, 20 * MINUTE, HOUR])))
        number = rng.randrange(2)
        if rng.random() < 0.5:
            beats.start(number)  # the one before is killed
        else:
            crew.kill(number)
            crew.start_one(number, module="tests.faults.shifted", before=(str(beats.clock(number)),))
    for number in range(2):
        beats.clock(number).write_text("0")
    finish(crew, SCHEDULES)

    for name in SCHEDULES:
        assert_each_due_time_had_its_own(crew, name, first)
    with home.open_log() as log:
        assert_all_is_done_once(log, [])
        assert_views_agree(log, home.path / "views")


def test_schedules_due_during_a_broker_outage_run_after_it(
    crew: Crew, beats: Beats, broker: RedisServer
) -> None:
    crew.start_one(0)
    beats.start(0)
    now = crew.application.clock.now()
    due = float(int(now) + 3)
    broker.kill()
    add(crew, "p1", due)
    add(crew, "p2", due - HOUR - due % (5 * MINUTE), missed="skip")
    wait_until(lambda: crew.application.clock.now() > due + 1, "the due time to pass")
    assert of(crew.log, "p1", schedules_events.ScheduleFired) == []
    broker.start()
    finish(crew, ("p1", "p2"))

    (fired,) = of(crew.log, "p1", schedules_events.ScheduleFired)
    assert isinstance(fired, schedules_events.ScheduleFired)
    assert fired.due == due
    missed = of(crew.log, "p2", schedules_events.ScheduleMissed)
    assert [fact.reason for fact in missed if isinstance(fact, schedules_events.ScheduleMissed)] == ["down"]


def test_a_schedule_that_another_process_adds_while_beat_runs_is_fired(crew: Crew, beats: Beats) -> None:
    crew.start_one(0)
    beat = beats.start(0)
    now = crew.application.clock.now()
    plan = replace(PLAN, timing="every 3 hours", kind="interval", deliver=())
    crew.application.engine().change(Add(schedule="p1", now=now - 3 * HOUR + 2, plan=plan), "test")
    wait_until(lambda: bool(of(crew.log, "p1", schedules_events.ScheduleFired)), "the run")
    finish(crew, ("p1",))

    assert len(of(crew.log, "p1", schedules_events.ScheduleFired)) == 1
    wait_until(lambda: "due: p1-" in beat.err, "the beat's word on it")


@pytest.mark.nightly
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_that_is_killed_at_any_of_its_appends_neither_loses_nor_doubles_a_run(
    home: Home, moment: Moment
) -> None:
    application = Application(load(home.environ), home.environ)
    try:
        code: int | None = -9
        at = 0
        while code == -9:
            at += 1
            timing = f"at 2026-01-01T00:{at // 60:02}:{at % 60:02}+00:00"
            plan = replace(PLAN, timing=timing, kind="once", missed="all", deliver=())
            due = 1_767_225_600.0 + at
            added = schedules_events.ScheduleAdded(schedule=f"p{at}", plan=plan, by="user", next_due=due)
            change = DecisionResult(writes=(StreamEvents(stream_of(f"p{at}"), (added,)),))
            application.engine().change(lambda load: change, "test")  # noqa: B023 - called at once
            code = _drained(home.environ, at, moment)
        assert at > 4, "firing and running have more appends than that"
        assert _drained(home.environ, 0, moment) == 0
        facts = facts_of(application.log)
        fired = [fact.schedule for fact in facts if isinstance(fact, schedules_events.ScheduleFired)]
        assert sorted(fired) == sorted(f"p{number}" for number in range(1, at + 1))
        ended = [fact.schedule for fact in facts if isinstance(fact, schedules_events.ScheduleRunEnded)]
        assert sorted(ended) == sorted(fired)
        assert_all_is_done_once(application.log, [])
    finally:
        application.close()


def _drained(environ: Mapping[str, str], at: int, moment: Moment) -> int | None:
    """How a worker ends that is killed at its `at`-th append (0: not at all), else when all is done."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["hermes_jobs.bootstrap.step_handlers", "hermes_jobs.runtime.inline_worker", *PRELOADED]
    )
    process = context.Process(target=_drain, args=(dict(environ), at, moment))
    process.start()
    process.join(PATIENCE)
    code = process.exitcode
    process.kill()
    process.join()
    return code


def _drain(environ: Mapping[str, str], at: int, moment: Moment) -> None:
    from hermes_jobs.runtime.inline_worker import InlineWorker

    application = Application(load(environ), environ)
    with InlineWorker(application) as worker:
        if at:
            die_at(at, moment)
        assert worker.work(lambda: not application.log.steps(), seconds=PATIENCE)
    application.close()
