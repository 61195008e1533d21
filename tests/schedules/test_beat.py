"""The beat: it wakes each due time in its moment, whoever added it, and never decides anything."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.turns.steps import Step
from schedules.beat import IDLE_SECONDS, LONGEST, POLL_SECONDS, DuePoller, LogScheduler
from tests.eventlog.changes import claim, due
from tests.processes import ROOT
from workers.app import make_app


class Clock:
    """Both clocks of a host, set by hand."""

    def __init__(self) -> None:
        self.wall = 1_000.0
        self.running = 50.0

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.running

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.running += seconds


class Broker:
    """Notes what it takes, while it takes anything."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.takes = True

    def send_again(self, steps: Sequence[Step]) -> bool:
        if self.takes:
            self.sent.extend(step.id for step in steps)
        return self.takes


def fire(name: str, at: float) -> Step:
    return Step(id=name, stream="schedule-p", kind="schedule.fire", not_before=at)


@pytest.fixture
def plain_log(tmp_path: Path) -> Iterator[SqlEventLog]:
    log = open_log(sqlite_url(tmp_path / "events.db"))
    yield log
    log.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def waking(plain_log: SqlEventLog, clock: Clock, broker: Broker) -> DuePoller:
    return DuePoller(plain_log, clock, broker)


def test_a_due_time_is_sent_in_its_moment_and_not_before(
    waking: DuePoller, plain_log: SqlEventLog, clock: Clock, broker: Broker
) -> None:
    plain_log.append(due(fire("a", 1_000.25)))
    assert waking.poll() == pytest.approx(0.25)
    assert broker.sent == []
    clock.pass_by(0.25)
    waking.poll()

    assert broker.sent == ["a"]


def test_a_schedule_of_another_process_is_found_at_the_next_poll(
    waking: DuePoller, plain_log: SqlEventLog, clock: Clock, broker: Broker
) -> None:
    assert waking.poll() == IDLE_SECONDS
    plain_log.append(due(fire("a", clock.wall + 0.5)))
    clock.pass_by(IDLE_SECONDS)
    waking.poll()

    assert broker.sent == ["a"]


def test_unclaimed_steps_are_sent_again_with_growing_pauses(
    waking: DuePoller, plain_log: SqlEventLog, clock: Clock, broker: Broker
) -> None:
    plain_log.append(due(fire("a", 1_000.0)))
    moments = []
    for second in range(200):
        before = len(broker.sent)
        waking.poll()
        if len(broker.sent) > before:
            moments.append(second)
        clock.pass_by(1.0)

    gaps = [later - earlier for earlier, later in pairwise(moments)]
    assert gaps[:5] == [1, 2, 4, 8, 16]
    assert set(gaps[5:]) == {int(LONGEST)}


def test_claimed_steps_and_those_of_other_queues_are_not_sent(
    waking: DuePoller, plain_log: SqlEventLog, broker: Broker
) -> None:
    turn = Step(id="t", stream="session-s", kind="turn.prefetch")
    plain_log.append(due(fire("a", 1_000.0), turn))
    plain_log.append(claim("a"))
    waking.poll()

    assert broker.sent == []


def test_a_step_the_broker_did_not_accept_is_sent_at_the_next_poll(
    waking: DuePoller, plain_log: SqlEventLog, clock: Clock, broker: Broker
) -> None:
    plain_log.append(due(fire("a", 1_000.0)))
    broker.takes = False
    waking.poll()
    broker.takes = True
    clock.pass_by(POLL_SECONDS)
    waking.poll()

    assert broker.sent == ["a"]


def test_a_clock_that_is_put_back_lets_the_beat_wait(
    waking: DuePoller, plain_log: SqlEventLog, clock: Clock, broker: Broker
) -> None:
    plain_log.append(due(fire("a", 1_000.5)))
    clock.wall -= 3_600
    assert waking.poll() == IDLE_SECONDS
    assert broker.sent == []


def test_celerys_beat_has_no_entries_and_asks_when_to_look_again() -> None:
    app = make_app("memory://", prefix="x.")
    scheduler = LogScheduler(lambda: 0.125, app=app, max_interval=POLL_SECONDS)

    assert scheduler.schedule == {}
    assert scheduler.tick() == 0.125


def test_the_beat_never_loads_a_models_client() -> None:
    program = "import sys, schedules.beat; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert {"openai", "flower"}.isdisjoint(loaded.stdout.split())
