"""Listeners over a real log: told once where nothing goes wrong, again where something does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import pytest

from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.memory.events import MemoryAdded
from hermes_jobs.features.memory.rules import memory
from hermes_jobs.features.memory.steps import NotifyMemoryProvider
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.handlers.notify_listener import (
    NO_LISTENER,
    NotifyListener,
)
from hermes_jobs.kernel.engine.ports import ListenerError, StepHandler
from hermes_jobs.kernel.engine.repository import EventReplay
from hermes_jobs.kernel.engine.step_parts import StepParts
from hermes_jobs.kernel.events import ListenerTold, WritesTold
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.streams.decision import DecisionResult, StreamEvents
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES
from hermes_jobs.kernel.streams.subscriptions import MAX_ATTEMPTS
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import StepKind
from tests.engine.simulation import CountedIds, ShiftedClock, Wakes

STREAM, NAME = "session-s1", "memory:notes"


class Notes:
    """A `MemoryWriteListener` that stumbles over what it is told to."""

    name = NAME

    def __init__(self, log: SqlEventLog) -> None:
        self._replay = EventReplay(log)
        self.heard: list[str] = []
        self.stumbles: set[str] = set()

    def notify(self, session: Session, after: int) -> None:
        for before, fact, _ in self._replay(session.stream, after, session.version):
            self._note(type(fact).__name__, before.version)

    def notify_write(self, session: Session, write: memory_events.MemoryEvent) -> None:
        assert isinstance(write, MemoryAdded)
        self._note(write.content, 0)

    def _note(self, what: str, upto: int) -> None:
        if what in self.stumbles:
            raise ListenerError(f"stumbled over {what}", upto=upto)
        self.heard.append(what)


class House:
    """A log, its listener, and an engine whose time the test sets."""

    def __init__(self, log: SqlEventLog) -> None:
        self.log = log
        self.now = 1_000.0
        self.notes = Notes(log)
        self.engine = self.with_listener(self.notes)

    def with_listener(self, notes: Notes | None) -> Engine:
        clock, ids = ShiftedClock(lambda: self.now), CountedIds()
        handlers: dict[StepKind, StepHandler] = {
            "listener.memory": NotifyMemoryProvider(notes, self.log, clock, ids),
            "listener.context": NotifyListener(None, clock, ids),
        }
        return Engine(
            log=self.log,
            worker="w",
            clock=clock,
            ids=ids,
            dispatcher=Wakes(),
            parts=StepParts(handlers=handlers),
        )

    def write(self, stream: str, *facts: e.Event) -> None:
        self.engine.change(lambda load: DecisionResult(writes=(StreamEvents(stream, facts),)), "test")

    def turn(self, name: str, *listeners: str) -> None:
        self.write(
            STREAM,
            e.TurnSubmitted(turn=name, text="hello", source="cli", session="s1"),
            e.ContextPrefetched(turn=name, model="m", max_iterations=5, listeners=listeners),
            e.TurnCompleted(turn=name, answer="Hi."),
        )

    def tell(self, engine: Engine | None = None) -> None:
        """Perform what is due, also what is due later."""
        [row] = self.log.steps()
        self.now = max(self.now, row.step.not_before)
        assert (engine or self.engine).run(row.step.stream, row.step.id) == "done"
        assert verify(self.log).findings == ()

    def told(self) -> list[ListenerTold]:
        return [each.event for each in self.log.read(STREAM) if isinstance(each.event, ListenerTold)]


@pytest.fixture
def house(log: SqlEventLog) -> House:
    return House(log)


def added(content: str) -> MemoryAdded:
    return MemoryAdded(target="user", content=content, author="user")


def test_a_listener_gets_all_new_events_in_order_and_once(house: House) -> None:
    house.turn("t1", NAME)
    house.tell()
    house.turn("t2", NAME)
    house.turn("t3", NAME)
    house.tell()
    turn = ["TurnSubmitted", "ContextPrefetched", "TurnCompleted"]
    assert house.notes.heard == ["ContextPrefetched", "TurnCompleted", "ListenerTold", *turn, *turn]
    assert house.log.steps() == []


def test_after_a_death_before_the_record_the_listener_is_called_again(house: House) -> None:
    house.turn("t1", NAME)
    house.notes.notify(house.engine.sessions.load(STREAM), 1)
    house.tell()
    assert house.notes.heard.count("TurnCompleted") == 2


def test_after_a_failure_it_continues_at_the_failed_event(house: House) -> None:
    house.turn("t1", NAME)
    house.notes.stumbles = {"TurnCompleted"}
    house.tell()
    house.notes.stumbles = set()
    house.tell()
    assert house.notes.heard == ["ContextPrefetched", "TurnCompleted", "ListenerTold"]
    failed, done = house.told()
    assert (failed.upto, failed.message) == (2, "stumbled over TurnCompleted")
    assert (done.upto, done.message, done.retry_at) == (4, "", None)


def test_a_fact_that_it_never_takes_is_left_out(house: House) -> None:
    house.turn("t1", NAME)
    house.notes.stumbles = {"TurnCompleted"}
    for _ in range(MAX_ATTEMPTS):
        house.tell()
    assert house.told()[-1].upto == 3
    assert house.log.steps() == []
    house.turn("t2", NAME)
    house.notes.stumbles = set()
    house.tell()
    assert house.notes.heard.count("TurnCompleted") == 1


def test_writes_of_the_memory_come_first_each_once_and_to_a_new_one_all_that_ever_were(house: House) -> None:
    house.write(memory.STREAM, added("old"))
    house.turn("t1", NAME)
    house.tell()
    house.write(memory.STREAM, added("new"), added("newer"))
    house.turn("t2", NAME)
    house.tell()
    written = [each for each in house.notes.heard if each not in EVENT_TYPES]
    assert written == ["old", "new", "newer"]
    assert house.notes.heard[0] == "old"
    kept = [each.event for each in house.log.read(f"listener-{NAME}")]
    assert kept == [WritesTold(listener=NAME, upto=1), WritesTold(listener=NAME, upto=3)]


def test_a_write_that_fails_is_tried_again_and_left_out_at_last(house: House) -> None:
    house.write(memory.STREAM, added("good"), added("bad"), added("fine"))
    house.turn("t1", NAME)
    house.notes.stumbles = {"bad"}
    for _ in range(MAX_ATTEMPTS):
        assert "TurnCompleted" not in house.notes.heard
        house.tell()
    assert [each for each in house.notes.heard if each not in EVENT_TYPES] == ["good", "fine"]
    assert house.notes.heard.count("TurnCompleted") == 1
    assert house.log.steps() == []


@pytest.mark.parametrize("name", [NAME, "context:gone"])
def test_where_there_is_no_such_listener_another_worker_may_have_it(house: House, name: str) -> None:
    house.turn("t1", name)
    empty = house.with_listener(None)
    for _ in range(MAX_ATTEMPTS):
        assert house.log.steps() != []
        house.tell(empty)
    assert {each.message for each in house.told()} == {NO_LISTENER}
    assert house.log.steps() == []
    assert house.notes.heard == []


def test_every_fact_of_a_session_can_be_replayed_as_it_was(house: House) -> None:
    house.turn("t1", NAME)
    house.turn("t2", NAME)
    session = house.engine.sessions.load(STREAM)
    replay = EventReplay(house.log)
    whole = list(replay(STREAM, 0, session.version))
    assert [type(each.event) in get_args(e.SessionEvent) for each in whole] == [True] * 6
    assert [each.before.version for each in whole] == list(range(6))
    assert whole[-1].after == session
    parts: Sequence[object] = [*replay(STREAM, 0, 2), *replay(STREAM, 2, 5), *replay(STREAM, 5, 6)]
    assert parts == whole
