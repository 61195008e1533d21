"""Tasks of servers: given a call that became one, when it is looked at, then these events and steps."""

from __future__ import annotations

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.call import Call
from hermes_jobs.kernel.turns.steps import Step
from tests.domain.test_inputs import FORM, answer, ask
from tests.domain.world import World


def begun() -> tuple[World, str]:
    """A turn whose only call is a task; the call."""
    world = World()
    world.submit()
    world.prefetch()
    world.reply("", [("notes__index", "write")])
    step = world.begin()
    world.do(
        c.FollowServerTask(
            e.ServerTaskBegun(turn="t1", call=step.id, server="notes", task="task-7", at=10.0, poll_at=12.0)
        )
    )
    return world, step.id


def look(world: World) -> Step:
    """Claim the look that is due."""
    (step,) = world.due
    world.do(c.BeginStep(step=step.id))
    return step


def polled(world: World, call: str, *, reached: bool = True) -> None:
    world.do(
        c.FollowServerTask(e.ServerTaskPolled(turn="t1", call=call, at=12.5, poll_at=15.0, reached=reached))
    )


def call_of(world: World, call: str) -> Call:
    assert world.session.current is not None
    found = world.session.current.call(call)
    assert found is not None
    return found


def test_a_task_waits_for_a_timer_and_a_look_starts_nothing() -> None:
    world, call = begun()
    assert [(step.id, step.not_before) for step in world.due] == [(call, 12.0)]
    look(world)
    polled(world, call)
    assert [(step.id, step.not_before) for step in world.due] == [(call, 15.0)]
    assert len(world.of(e.ToolStarted)) == 1


def test_its_result_is_that_of_the_call() -> None:
    world, _ = begun()
    world.finish_tool(look(world))
    assert [step.kind for step in world.due] == ["turn.call_model"]


def test_a_worker_that_dies_during_a_look_changes_nothing() -> None:
    world, call = begun()
    look(world)
    world.do(c.AbandonStep(step=call, worker="w1", reason="died"))
    assert world.of(e.ToolInterrupted) == []
    assert call_of(world, call).has_task
    assert call_of(world, call).attempt == 1
    assert [step.id for step in world.due] == [call]


def test_a_cancelled_turn_ends_after_the_server_got_the_cancellation() -> None:
    world, call = begun()
    world.do(c.CancelTurn(turn="t1", by="user"))
    assert "t1" not in world.session.ended
    assert [(step.id, step.not_before) for step in world.due] == [(call, 0.0)]
    world.interrupt_tool(look(world))
    assert world.session.ended["t1"].status == "cancelled"


def test_a_call_that_becomes_a_task_of_a_cancelled_turn_is_ended_too() -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("", [("notes__index", "write")])
    step = world.begin()
    world.do(c.CancelTurn(turn="t1", by="user"))
    world.do(
        c.FollowServerTask(
            e.ServerTaskBegun(turn="t1", call=step.id, server="notes", task="task-7", at=10.0, poll_at=12.0)
        )
    )
    assert [(each.id, each.not_before) for each in world.due] == [(step.id, 0.0)]


def test_a_task_asks_and_its_answers_go_along_with_the_next_look() -> None:
    world, call = begun()
    look(world)
    ask(world, call, FORM)
    assert world.due[0].not_before == 900.0
    answer(world, "t1")
    assert world.due[0].not_before == 0.0
    look(world)
    polled(world, call, reached=False)
    assert call_of(world, call).input is not None
    polled(world, call)
    found = call_of(world, call)
    assert found.input is None
    assert found.task is not None
    assert found.task.answered == ("who",)
    assert (found.attempt, len(world.of(e.ToolStarted))) == (1, 1)
