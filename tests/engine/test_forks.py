"""A fork begins with what its parent had said at any event, and leaves the parent untouched."""

from __future__ import annotations

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.titles.api import next_title, rename_session
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.fork import fork, undo
from hermes_jobs.kernel.events import ModelReplied, PlannedCall, SessionUndone, TurnSubmitted
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolCall, UserMessage
from hermes_jobs.kernel.turns.session import stream_of
from tests.domain.world import complaints
from tests.engine.simulation import (
    CountedIds,
    Gates,
    ShiftedClock,
    SimulatedToolbox,
    Wakes,
    simulated_engine,
)


@pytest.fixture
def engine(log: EventLog) -> Engine:
    gates = Gates()
    clock = ShiftedClock(lambda: 1_000.0)
    return simulated_engine(log, "w", clock, CountedIds(), Wakes(), gates, SimulatedToolbox(gates), [])


def converse(engine: Engine, session: str, turn: str, text: str) -> None:
    engine.submit(TurnSubmitted(turn=turn, session=session, text=text, source="cli"))
    while steps := engine.log.steps(stream_of(session)):
        engine.run(stream_of(session), steps[0].step.id)


def test_a_turn_in_a_fork_continues_the_parents_history(engine: Engine) -> None:
    converse(engine, "s1", "t1", "one")
    before = engine.log.head("session-s1")
    fork(engine, "s1", "s2")
    converse(engine, "s2", "t2", "two")
    said = [message.content for message in engine.sessions.load("session-s2").messages]
    assert said == ["one", "done", "two", "done"]
    assert engine.log.head("session-s1") == before


def test_a_fork_at_any_event_holds_a_history_that_a_provider_takes(engine: Engine, log: EventLog) -> None:
    converse(engine, "s1", "t1", "one")
    converse(engine, "s1", "t2", "two")
    versions = log.head("session-s1").version  # type: ignore[union-attr]
    for at in range(2, versions + 1):
        fork(engine, "s1", f"f{at}", at=at)
        converse(engine, f"f{at}", f"tf{at}", "three")
        messages = engine.sessions.load(stream_of(f"f{at}")).messages
        assert messages[-2:] == (UserMessage("three"), AssistantMessage("done"))
        assert complaints(messages[:-1]) == []


def test_a_fork_amid_tool_calls_leaves_the_open_ones_out(engine: Engine) -> None:
    engine.submit(TurnSubmitted(turn="t1", session="s1", text="one", source="cli"))
    engine.run("session-s1", "t1-prefetch")
    engine.execute("session-s1", c.BeginStep(step="t1-1"))
    asked = ModelReplied(
        turn="t1",
        step="t1-1",
        content="",
        model="m",
        finish_reason="tool_calls",
        tool_calls=(ToolCall("p", "read", "{}"),),
        plan=(PlannedCall(call="t1-1-0", effect="read"),),
    )
    engine.execute("session-s1", c.FinishModelCall(step="t1-1", outcome=asked))
    fork(engine, "s1", "s2")
    assert engine.sessions.load("session-s2").messages == (UserMessage("one"),)


def test_a_fresh_process_folds_a_fork_like_the_one_that_made_it(engine: Engine, log: EventLog) -> None:
    converse(engine, "s1", "t1", "one")
    fork(engine, "s1", "s2")
    converse(engine, "s2", "t2", "two")
    other = Engine(
        log=log,
        worker="o",
        clock=engine.clock,
        ids=engine.ids,
        dispatcher=engine.dispatcher,
    )
    assert other.sessions.load("session-s2") == engine.sessions.load("session-s2")


def test_a_fork_where_nothing_is_yet_or_any_more_is_refused(engine: Engine) -> None:
    converse(engine, "s1", "t1", "one")
    with pytest.raises(Rejected, match="there is no 99"):
        fork(engine, "s1", "s2", at=99)
    with pytest.raises(Rejected, match="had not begun"):
        fork(engine, "s1", "s2", at=1)


def said_in(engine: Engine, session: str) -> list[str]:
    return [message.content for message in engine.sessions.load(stream_of(session)).messages]


def test_an_undo_continues_before_the_last_turn_and_erases_nothing(engine: Engine, log: EventLog) -> None:
    converse(engine, "s1", "t1", "one")
    converse(engine, "s1", "t2", "two")
    before = log.read("session-s1")
    assert undo(engine, "s1", "s2") == "two"
    assert said_in(engine, "s2") == ["one", "done"]
    *kept, undone = log.read("session-s1")
    assert (kept, undone.event) == (list(before), SessionUndone(session="s1", into="s2"))
    converse(engine, "s2", "t3", "three")
    assert said_in(engine, "s2") == ["one", "done", "three", "done"]
    assert undo(engine, "s2", "s3") == "three"
    assert said_in(engine, "s3") == ["one", "done"]


def test_the_title_moves_to_the_fork_of_an_undo(engine: Engine) -> None:
    converse(engine, "s1", "t1", "one")
    converse(engine, "s1", "t2", "two")
    rename_session(engine, "s1", "Trip to Rome")
    undo(engine, "s1", "s2")
    undo(engine, "s2", "s3")
    assert [engine.sessions.load(stream_of(each)).title for each in ("s1", "s2", "s3")] == [
        None,
        None,
        "Trip to Rome",
    ]
    assert rename_session(engine, "s3", "Rome").title == "Rome"
    assert rename_session(engine, "s3", "Trip to Rome").title == "Trip to Rome"
    with pytest.raises(Rejected, match="is, or was, the title of session s3"):
        rename_session(engine, "s1", "Trip to Rome")
    with pytest.raises(Rejected, match="is kept for session s3"):
        rename_session(engine, "s1", "Trip to Rome #2")


def test_the_numbers_of_a_title_go_on_after_an_undo(engine: Engine) -> None:
    converse(engine, "s1", "t1", "one")
    rename_session(engine, "s1", "Daily log")
    rename_session(engine, "s1", "Daily log #2")
    undo(engine, "s1", "s2")
    session = engine.sessions.load("session-s2")
    assert (session.named, session.title) == ("Daily log", "Daily log #2")
    assert next_title(engine, session) == "Daily log #3"


def test_undoing_again_reaches_back_into_the_session_it_came_from(engine: Engine) -> None:
    converse(engine, "s1", "t1", "one")
    converse(engine, "s1", "t2", "two")
    assert [undo(engine, "s1", "s2"), undo(engine, "s2", "s3")] == ["two", "one"]
    assert said_in(engine, "s3") == []
    with pytest.raises(Rejected, match="no turn to undo"):
        undo(engine, "s3", "s4")
    converse(engine, "s3", "t3", "anew")
    assert said_in(engine, "s3") == ["anew", "done"]


def test_a_text_that_waited_is_undone_without_the_turn_before_it(engine: Engine) -> None:
    engine.submit(TurnSubmitted(turn="t1", session="s1", text="one", source="cli"))
    engine.run("session-s1", "t1-prefetch")
    converse(engine, "s1", "t2", "two")
    assert undo(engine, "s1", "s2") == "two"
    assert said_in(engine, "s2") == ["one", "done"]


def test_nothing_is_undone_while_a_turn_runs(engine: Engine) -> None:
    engine.submit(TurnSubmitted(turn="t1", session="s1", text="one", source="cli"))
    with pytest.raises(Rejected, match="t1 has not ended: it is still running"):
        undo(engine, "s1", "s2")


def test_a_fork_keeps_the_model_of_its_parent_at_that_turn(engine: Engine) -> None:
    converse(engine, "s1", "t1", "one")
    engine.execute("session-s1", c.ChangeModel(model="another"))
    fork(engine, "s1", "s2")
    assert engine.sessions.load("session-s2").model == "another"
