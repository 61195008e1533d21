"""A log may lose what a process has seen, as when its server is restored: the process continues with it."""

from __future__ import annotations

import pytest

from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.events import SessionTitled, TurnSubmitted
from hermes_jobs.kernel.log.database import Connection
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.turns import commands as c
from tests.engine.simulation import (
    CountedIds,
    Gates,
    ShiftedClock,
    SimulatedToolbox,
    Wakes,
    simulated_engine,
)

STREAM = "session-s1"


@pytest.fixture
def engine(log: SqlEventLog) -> Engine:
    gates = Gates()
    clock = ShiftedClock(lambda: 1_000.0)
    return simulated_engine(log, "w", clock, CountedIds(), Wakes(), gates, SimulatedToolbox(gates), [])


def lose_the_last(log: SqlEventLog) -> None:
    """Let the stream's newest event never have been."""
    *_, before, last = log.read(STREAM)

    def lose(connection: Connection) -> None:
        connection.execute("DELETE FROM events WHERE position = :position", {"position": last.position})
        head = {"stream": STREAM, "version": before.version, "hash": before.hash}
        connection.execute("UPDATE streams SET version = :version, hash = :hash WHERE stream = :stream", head)

    log.change_tables(lose)


def submit(engine: Engine, turn: str) -> None:
    engine.submit(TurnSubmitted(turn=turn, session="s1", text="hello", source="cli"))


def titles(log: SqlEventLog) -> list[str]:
    return [each.event.title for each in log.read(STREAM) if isinstance(each.event, SessionTitled)]


def test_a_process_ahead_of_the_log_continues_from_the_log(log: SqlEventLog, engine: Engine) -> None:
    submit(engine, "t1")
    submit(engine, "t2")
    engine.execute(STREAM, c.RenameSession(title="lost"))
    assert titles(log) == ["lost"]
    lose_the_last(log)
    engine.execute(STREAM, c.RenameSession(title="kept"))
    assert titles(log) == ["kept"]
    assert [each.version for each in log.read(STREAM)] == [1, 2, 3]
    assert engine.sessions.load(STREAM).title == "kept"
