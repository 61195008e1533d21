"""What Flower shows of a task: names and ids that say something, and no text of anybody."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.deliveries.rules import Delivery
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.abnormal_outcomes import is_failure
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.turns import commands as c
from tests.domain.world import World
from tests.engine.simulation import CountedIds, Gates, ShiftedClock, SimulatedToolbox, Wakes, simulated_engine
from workers.description import command_for, failure_of, from_state, from_step, root_of, waiting_for

SECRET = "my-secret-words"


def calling(source: str = "cli", tool: str = "terminal") -> World:
    """A turn with a tool call that is due; its text, its session's title and its arguments are secret."""
    world = World()
    world.do(c.SubmitTurn(e.TurnSubmitted(turn="t1", session="s1", text=SECRET, source=source)))
    world.do(c.RenameSession(title=SECRET))
    world.prefetch()
    world.reply(SECRET, [(tool, "write")])
    return world


def test_a_tool_call_is_shown_by_its_tool_model_source_and_session():
    world = calling()
    assert from_state(world.due[0], world.session) == "tool=terminal model=m source=cli session=s1"


@pytest.mark.parametrize("behind", [f'{{"command": "{SECRET}"}}', f" {SECRET}", f"\n{SECRET}", f"|{SECRET}"])
def test_of_a_tools_name_with_anything_behind_it_only_the_name_is_shown(behind: str):
    world = calling(tool=f"terminal{behind}")
    assert from_state(world.due[0], world.session) == "tool=terminal model=m source=cli session=s1"
    world = calling(tool=behind)
    assert from_state(world.due[0], world.session) == "model=m source=cli session=s1"


def test_a_step_that_asks_a_person_names_the_command_that_answers():
    world = calling()
    step = world.begin()
    assert waiting_for(world.session, step.id) == ""
    form = e.InputRequest(key="k", message=SECRET, fields=(e.InputField(name="answer", kind="text"),))
    world.do(c.RequestInput(step=step.id, server="", requests=(form,), expires_at=900.0))
    assert waiting_for(world.session, step.id) == "waits for an answer: hermes-jobs turns answer t1"
    assert waiting_for(world.session, "t2-1-0") == ""
    world.do(c.AnswerInput(turn="t1", action="decline", by="user", now=1.0))
    assert waiting_for(world.session, step.id) == ""


def test_a_member_is_shown_by_its_own_model_and_its_ensemble():
    world = World()
    world.do(c.SubmitTurn(e.TurnSubmitted(turn="t1", session="s1", text=SECRET, source="cli")))
    world.prefetch("a", "b")
    assert from_state(world.due[1], world.session) == "model=b ensemble=panel source=cli session=s1"


def test_a_sub_agents_is_shown_by_its_kind_and_the_turn_at_its_root_without_its_goal():
    world = World()
    place = e.Delegation(
        turn="t2",
        parent="s1",
        parent_turn="t1",
        call="t1-1-0",
        payers=(e.Payer(turn="t1", stream="session-s1"),),
        role="research",
    )
    opening = e.Opening(kind="child", delegation=place)
    world.do(
        c.SubmitTurn(
            e.TurnSubmitted(turn="t2", session="s1", text=SECRET, source="parent:s1", opening=opening)
        )
    )
    shown = from_state(world.due[0], world.session)
    assert shown == "source=parent:s1 agent=research session=s1 root=t1"
    assert root_of(world.due[0], world.session) == "t1"
    assert root_of(world.due[0], None) == "t2"


def test_a_run_of_a_schedule_is_shown_by_the_schedule():
    world = calling("schedule:p1")
    assert from_state(world.due[0], world.session) == "tool=terminal model=m schedule=p1 session=s1"


def test_an_unknown_session_is_shown_by_its_stream():
    world = calling()
    assert from_state(world.due[0], None) == from_step(world.due[0]) == "session=s1"


def test_a_delivery_is_shown_by_its_kind_of_target():
    requested = DeliveryRequested(
        delivery="d1", target=f"file:/{SECRET}", turn="t1", text=SECRET, source="cli"
    )
    delivery = Delivery(stream="delivery-d1", requested=requested)
    step = calling().due[0]
    assert from_state(step, delivery) == "delivery=d1 target=file turn=t1 source=cli"


@pytest.fixture
def engine(log: EventLog) -> Engine:
    gates = Gates()
    clock = ShiftedClock(lambda: 1_000.0)
    return simulated_engine(log, "w", clock, CountedIds(), Wakes(), gates, SimulatedToolbox(gates), [])


def test_a_failure_is_shown_by_its_kind_and_the_first_line_without_secrets(engine: Engine) -> None:
    engine.submit(e.TurnSubmitted(turn="t1", session="s1", text="Hello", source="cli"))
    engine.run("session-s1", "t1-prefetch")
    engine.execute("session-s1", c.BeginStep(step="t1-1"))
    message = f"No model for {SECRET}.\nAnd more."
    failed = e.ModelCallFailed(turn="t1", step="t1-1", attempt=1, kind="model_not_found", message=message)
    engine.execute("session-s1", c.FinishModelCall(step="t1-1", outcome=failed))
    shown = failure_of(engine, "session-s1", "t1-1", lambda text: text.replace(SECRET, "[REDACTED]"))
    assert shown == "model_not_found: No model for [REDACTED]."
    assert failure_of(engine, "session-s1", "t2-1", str) == ""
    assert command_for(engine, "session-s1", "t1-1") == "hermes-jobs turns show t1"
    assert command_for(engine, "session-s1", "s1-title") == "hermes-jobs sessions show s1"
    assert (
        command_for(engine, "verification-v1", "v1-plan") == "hermes-jobs log events --stream verification-v1"
    )


def test_a_failed_attempt_is_a_failure_also_when_it_is_tried_again() -> None:
    failed = e.ModelCallFailed(turn="t1", step="t1-1", attempt=1, kind="timeout", message="No answer.")
    for outcome in (failed, replace(failed, retry_at=7.0)):
        assert is_failure(c.FinishModelCall(step="t1-1", outcome=outcome))
    assert not is_failure(c.FinishModelCall(step="t1-1", outcome=replace(failed, kind="cancelled")))
