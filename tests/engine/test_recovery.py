"""A process hears of cancels, takes over from the dead, and leaves alone what only a newer build can read."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, cast

import pytest

from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.events import Event, TurnSubmitted
from hermes_jobs.kernel.events.recorded import EventMeta, RecordedEvent
from hermes_jobs.kernel.log.codec import Codec
from hermes_jobs.kernel.log.factory import open_log
from hermes_jobs.kernel.log.log import Append, EventLog, StreamWrite
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES, SINCE
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.runtime.recovery import LogFollower, reclaim_from_dead_workers
from hermes_jobs.text.moments import iso
from tests.engine.simulation import (
    CountedIds,
    GatedThread,
    Gates,
    KnownDead,
    ShiftedClock,
    SimulatedToolbox,
    Wakes,
    simulated_engine,
)


class Novelty(Event, frozen=True, kw_only=True):
    """An event of a later build."""


@pytest.fixture
def gates() -> Gates:
    return Gates()


def engine_of(log: EventLog, gates: Gates, worker: str = "w") -> Engine:
    clock = ShiftedClock(lambda: 1_000.0)
    return simulated_engine(log, worker, clock, CountedIds(), Wakes(), gates, SimulatedToolbox(gates), [])


def submit(log: EventLog, gates: Gates, turn: str, session: str) -> None:
    command = TurnSubmitted(turn=turn, session=session, text="hello", source="cli")
    engine_of(log, gates, "client").submit(command)


def call_model(engine: Engine, gates: Gates, stream: str, step: str) -> GatedThread:
    """A thread that is in the middle of its model call."""
    thread = gates.start(lambda: engine.run(stream, step))
    while thread.at not in {"model", None}:
        thread.go()
    return thread


def run_to_its_end(thread: GatedThread) -> None:
    while thread.at is not None:
        thread.go()


def test_a_cancel_by_another_process_stops_a_running_step(log: EventLog, gates: Gates) -> None:
    engine = engine_of(log, gates)
    watch = LogFollower(engine)
    submit(log, gates, "t1", "s1")
    engine.run("session-s1", "t1-prefetch")
    call = call_model(engine, gates, "session-s1", "t1-1")
    engine_of(log, gates, "client").execute("session-s1", c.CancelTurn(turn="t1", by="user"))
    watch.poll()
    run_to_its_end(call)
    assert engine.sessions.load("session-s1").ended["t1"].status == "cancelled"


def test_events_of_a_newer_build_are_left_alone_and_said_once(
    log: EventLog, log_url: str, gates: Gates, caplog: pytest.LogCaptureFixture
) -> None:
    engine = engine_of(log, gates)
    watch = LogFollower(engine)
    codec = Codec({**EVENT_TYPES, "Novelty": Novelty}, since={**SINCE, "Novelty": 99})
    newer = open_log(log_url, codec=codec)
    for _ in range(2):
        write = StreamWrite(stream="session-s9", events=(Novelty(),), expected=None)
        newer.append(Append(meta=EventMeta(worker="n"), recorded_at=iso(0), writes=(write,)))
    newer.close()
    submit(log, gates, "t1", "s1")
    with caplog.at_level(logging.WARNING):
        news = watch.poll()
    assert [recorded.type for recorded in news] == ["TurnSubmitted"]
    assert len(caplog.records) == 1
    assert "newer" in caplog.text
    assert engine.run("session-s1", "t1-prefetch") == "done"


class StumblingLog:
    """A log at which appends fail with a mistake of the program."""

    def __init__(self, log: EventLog, appends: Sequence[int]) -> None:
        self._log = log
        self._fails_at = set(appends)
        self._count = 0

    def append(self, change: Append) -> tuple[RecordedEvent, ...]:
        self._count += 1
        if self._count in self._fails_at:
            raise RuntimeError("a mistake in this program")
        return self._log.append(change)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def test_an_outcome_that_a_mistake_kept_from_the_log_is_recorded_later_and_its_step_does_not_hang(
    log: EventLog, gates: Gates, caplog: pytest.LogCaptureFixture
) -> None:
    submit(log, gates, "t1", "s1")
    stumbling = cast(EventLog, StumblingLog(log, appends=[2, 3]))  # the claim is the first
    engine = engine_of(stumbling, gates)
    with pytest.raises(RuntimeError):
        engine.run("session-s1", "t1-prefetch")
    assert [row.owner for row in log.steps()] == ["w"]
    assert engine.retry_unsaved() == 1
    assert "a mistake in this program" in caplog.text
    assert engine.retry_unsaved() == 0
    assert [(row.step.id, row.owner) for row in log.steps()] == [("t1-1", None)]


def test_only_steps_of_the_dead_are_taken_over(log: EventLog, gates: Gates) -> None:
    for number, worker in ((1, "alive"), (2, "dead")):
        submit(log, gates, f"t{number}", f"s{number}")
        engine = engine_of(log, gates, worker)
        engine.run(f"session-s{number}", f"t{number}-prefetch")
        call_model(engine, gates, f"session-s{number}", f"t{number}-1")
    observer = KnownDead()
    observer.ids = {"dead"}
    taken = reclaim_from_dead_workers(engine_of(log, gates, "other"), observer)
    assert [row.step.id for row in taken] == ["t2-1"]
    assert {row.step.id: row.owner for row in log.steps()} == {"t1-1": "alive", "t2-1": None}
