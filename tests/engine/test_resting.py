"""What is put to rest is due no more, and can all be taken up again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes_jobs.bootstrap import NullDispatcher
from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.deliveries.rules import Delivery
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.features.schedules.rules.schedule import Schedule
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.quiesce import quiesce, reconcile_children
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.log import EventLog, StepGuard
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.streams import child_slots
from hermes_jobs.kernel.streams.child_slots import ChildSlots
from hermes_jobs.kernel.streams.decision import DecisionResult, StreamEvents
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.system.clock import SystemClock
from hermes_jobs.system.ids import RandomIds
from tests.eventlog.moving import live
from tests.examples import examples

BY = "import"


def engine_of(log: SqlEventLog) -> Engine:
    return Engine(
        log=log,
        worker="w",
        clock=SystemClock(),
        ids=RandomIds(),
        dispatcher=NullDispatcher(),
    )


def names_of(log: EventLog) -> list[str]:
    return [head.stream for head in log.streams()]


def waiting_for_others(engine: Engine) -> list[str]:
    """The sessions at work of which nothing is due, parents before their children: as an import has them."""
    due = {row.step.stream for row in engine.log.steps()}
    at_work = (name for name in names_of(engine.log) if engine.sessions.load(name).current is not None)
    return sorted((name for name in at_work if name not in due), key=len)


@given(seed=st.integers(0, 2**32))
@example(seed=19373)  # a server has made a task of a call
@settings(max_examples=examples(10))
def test_whatever_sessions_were_at_ends_and_can_be_retried(seed: int) -> None:
    with TemporaryDirectory() as folder:
        log = open_log(sqlite_url(Path(folder) / "events.db"))
        live(log, Random(seed), 60)
        engine = engine_of(log)
        rested = quiesce(engine, names_of(log), BY, waiting_for_others(engine))
        assert log.steps() == []
        assert verify(log).is_sound, verify(log).findings
        for stream in names_of(log):
            session = engine.sessions.load(stream)
            assert (session.current, session.waiting) == (None, ())
            for turn in [turn for turn in rested["turns"] if turn in session.ended]:
                assert engine.execute(stream, c.ResumeTurn(e.TurnResumed(turn=turn))).find(turn) is not None
        log.close()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with closing(open_log(sqlite_url(tmp_path / "events.db"))) as log:
        yield engine_of(log)


def write(engine: Engine, stream: str, *facts: e.Event) -> None:
    engine.change(lambda load: DecisionResult(writes=(StreamEvents(stream, facts),)), "test")


def test_a_schedule_is_paused_and_a_delivery_waits_in_the_inbox(engine: Engine) -> None:
    plan = schedules_events.Plan(name="p", text="say hi", kind="interval", timing="every 1h", timezone="UTC")
    for schedule in ("active", "paused", "removed"):
        added = schedules_events.ScheduleAdded(schedule=schedule, plan=plan, by="user", next_due=4e9)
        write(engine, f"schedule-{schedule}", added)
    write(engine, "schedule-paused", schedules_events.SchedulePaused(schedule="paused", by="user"))
    write(engine, "schedule-removed", schedules_events.ScheduleRemoved(schedule="removed", by="user"))
    for delivery, target in (("d1", "webhook:https://example.com"), ("d2", "cli")):
        requested = DeliveryRequested(
            delivery=delivery, target=target, turn="t1", session="s1", text="hi", source="cli"
        )
        write(engine, f"delivery-{delivery}", requested)
    assert isinstance(engine.log, SqlEventLog)
    held = next(row.step for row in engine.log.steps("delivery-d1"))
    engine._command_handler.apply_guard(StepGuard(action="claim", step=held.id, owner="w-gone", fence=1))
    rested = quiesce(engine, names_of(engine.log), BY)
    assert (rested["schedules"], rested["deliveries"]) == (["active"], ["d1"])
    assert engine.log.steps() == []
    paused, unsent = engine.state("schedule-active"), engine.state("delivery-d1")
    assert isinstance(paused, Schedule)
    assert paused.status == "paused"
    assert isinstance(unsent, Delivery)
    assert (unsent.status, unsent.is_unread) == ("failed", True)
    assert quiesce(engine, names_of(engine.log), BY)["schedules"] == []


def test_a_review_and_a_compression_are_dropped(engine: Engine) -> None:
    stream = "session-s1"
    write(
        engine,
        stream,
        e.TurnSubmitted(turn="t1", text="hi", source="cli", session="s1", opening=e.Opening()),
        e.SessionStarted(session="s1", kind="conversation", source="cli", model="m", system_prompt="p"),
        e.ContextPrefetched(turn="t1", model="m", max_iterations=9),
        e.TurnCancelRequested(turn="t1", by="user"),
        e.UsageRecorded(turn="t1", model="m"),
        e.TurnCancelled(turn="t1", by="user"),
        e.CompressionRequested(turn=None, reason="manual"),
        e.ReviewRequested(review="v1", kind="memory", reason="it is time", turn="t1"),
    )
    assert {row.step.kind for row in engine.log.steps()} == {"compression.flush", "review.memory"}
    rested = quiesce(engine, [stream], BY)
    assert (rested["compressions"], rested["reviews"]) == (["s1-flush-1"], ["v1"])
    assert engine.log.steps() == []
    session = engine.sessions.load(stream)
    assert isinstance(session, Session)
    assert session.ended_because is None


@pytest.mark.parametrize("resume", [True, False])
def test_children_that_are_held_back_go_on_among_those_that_are_here_or_rest(
    engine: Engine, resume: bool
) -> None:
    for number in range(30):
        write(engine, f"session-c{number}", held_child(f"c{number}"))
    streams = [f"session-c{number}" for number in range(30)]
    assert engine.log.steps() == []
    reconcile_children(engine, streams, BY, per_root=3, per_home=10)
    assert [row.step.stream for row in engine.log.steps()] == streams[:3]
    if resume:
        return
    quiesce(engine, streams, BY, waiting=streams)
    assert engine.log.steps() == []
    slots = engine.state(child_slots.STREAM)
    assert isinstance(slots, ChildSlots)
    assert (slots.running, slots.waiting) == ((), ())
    assert all(engine.sessions.load(stream).current is None for stream in streams)


def held_child(name: str) -> e.TurnSubmitted:
    """The first text of a child that is held back; its parent is elsewhere."""
    payers = (e.Payer(turn="t1", stream="session-s1"),)
    place = e.Delegation(turn=f"t-{name}", parent="s1", parent_turn="t1", call="t1-1-0", payers=payers)
    return e.TurnSubmitted(
        turn=f"t-{name}",
        text="do it",
        source="parent:s1",
        session=name,
        opening=e.Opening(kind="child", delegation=place),
        held=True,
    )


def test_other_streams_are_left_alone(engine: Engine) -> None:
    for name in ("s1", "s2"):
        engine.submit(e.TurnSubmitted(turn=f"t{name}", session=name, text="hi", source="cli"))
    quiesce(engine, ["session-s1"], BY)
    assert [row.step.stream for row in engine.log.steps()] == ["session-s2"]


def test_pending_notifications_of_listeners_are_dropped(engine: Engine) -> None:
    for turn in ("t1", "t2"):
        write(
            engine,
            "session-s1",
            e.TurnSubmitted(turn=turn, text="hello", source="cli", session="s1"),
            e.ContextPrefetched(turn=turn, model="m", max_iterations=5, listeners=("memory:notes",)),
            *([e.TurnCompleted(turn=turn, answer="Hi.")] if turn == "t1" else []),
        )
    quiesce(engine, ["session-s1"], BY)
    assert engine.log.steps() == []
    told = engine.log.read("session-s1")[-1].event
    assert isinstance(told, e.ListenerTold)
    assert told.message == "Held back by import: it may have been told from elsewhere."
