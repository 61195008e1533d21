"""A turn that cannot begin yet is one timer: tried again, ended by a cancel, as new where it is resumed."""

from __future__ import annotations

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from tests.domain.world import World

REASON = "An MCP server that is required is away: notes: no such program."


def postpone(world: World, retry_at: float, since: float = 100.0) -> None:
    (step,) = world.due
    world.do(c.BeginStep(step=step.id))
    world.do(c.PostponeTurn(step=step.id, reason=REASON, retry_at=retry_at, since=since))


def test_it_waits_as_a_timer_and_counts() -> None:
    world = World()
    turn = world.submit()
    postpone(world, 102.0)
    postpone(world, 106.0)
    (step,) = world.due
    assert (step.id, step.kind, step.not_before, step.attempt) == (
        f"{turn}-prefetch",
        "turn.prefetch",
        106.0,
        3,
    )
    assert [(each.number, each.since) for each in world.facts if isinstance(each, e.TurnPostponed)] == [
        (1, 100.0),
        (2, 100.0),
    ]
    assert world.session.current is not None
    assert (world.session.current.postponed, world.session.current.waits_until) == (REASON, 106.0)


def test_it_begins_when_it_can() -> None:
    world = World()
    world.submit()
    postpone(world, 102.0)
    world.prefetch()
    assert [(step.kind, step.not_before) for step in world.due] == [("turn.call_model", 0.0)]
    assert world.session.current is not None
    assert world.session.current.waits_until == 0.0


def test_a_person_lets_it_be_tried_at_once() -> None:
    world = World()
    turn = world.submit()
    with pytest.raises(Rejected, match="does not wait"):
        world.do(c.EndWait(turn=turn))
    postpone(world, 102.0)
    world.do(c.EndWait(turn=turn))
    (step,) = world.due
    assert step.not_before == 0.0
    postpone(world, 104.0)
    assert world.session.current is not None
    assert (world.session.current.postponements, world.session.current.postponed_since) == (2, 100.0)


def test_a_cancel_ends_it() -> None:
    world = World()
    turn = world.submit()
    postpone(world, 102.0)
    world.do(c.CancelTurn(turn=turn, by="user"))
    assert world.session.ended[turn].status == "cancelled"
    assert world.due == ()


def test_where_it_has_failed_and_is_resumed_its_wait_begins_anew() -> None:
    world = World()
    turn = world.submit()
    postpone(world, 102.0)
    world.do(c.FailTurn(step=world.due[0].id, kind="mcp", message=REASON))
    world.do(c.ResumeTurn(e.TurnResumed(turn=turn)))
    (step,) = world.due
    assert step.not_before == 0.0
    postpone(world, 202.0, since=200.0)
    assert world.session.current is not None
    assert (world.session.current.postponements, world.session.current.postponed_since) == (1, 200.0)
