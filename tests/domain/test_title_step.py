"""Titles by a model: due after an answer that wants one, beside whatever comes next, and never in its way."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hermes_jobs.errors import StepLost
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.helper_calls import fail, failure, record_start, required
from hermes_jobs.kernel.streams.accounts import Charge
from hermes_jobs.kernel.streams.budgets import charges, reserved
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.streams.usage import Reservation, Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.title_step import give
from tests.domain.world import World

STEP = "s1-title"
HELD = Reservation(model="m", input_tokens=200, output_tokens=500, day="2026-11-23", cost_usd=0.01)
DONE = e.ResponseBooked(turn=None, step=STEP, purpose="title", model="m", usage=Usage(180, 9), cost_usd=0.001)


def applied(world: World, decision: Decision) -> tuple[e.Event, ...]:
    """The events of a decision on the session, which it folds."""
    facts = tuple(fact for write in decision(lambda stream: world.session).writes for fact in write.events)
    world.session = fold(world.session, facts)  # type: ignore[arg-type]
    return facts


def begun(world: World, reserved: Reservation | None = None) -> tuple[e.Event, ...]:
    return applied(world, record_start("session-s1", STEP, reserved))


def given(world: World, title: str = "Tea", cost: Sequence[e.ResponseBooked] = (DONE,)) -> list[str]:
    job = required(world.session, STEP)
    return [type(fact).__name__ for fact in applied(world, give(world.session, job, title, (), cost))]


def answered(*, wants_title: bool = True) -> World:
    world = World()
    world.do(
        c.SubmitTurn(
            e.TurnSubmitted(turn="t1", session="s1", text="hello", source="cli", wants_title=wants_title)
        )
    )
    world.answer()
    return world


def due(world: World) -> list[str]:
    return [step.kind for step in world.due]


def test_a_title_is_due_once_the_first_answer_is_there_and_given_once() -> None:
    world = answered()
    (step,) = world.due
    assert (step.id, step.kind, step.queue, step.turn) == (STEP, "session.title", "reviews", None)
    begun(world)
    assert given(world) == ["ResponseBooked", "SessionTitled", "HelperCallEnded"]
    assert (world.session.title, world.session.named, world.due) == ("Tea", "Tea", ())
    world.do(
        c.SubmitTurn(e.TurnSubmitted(turn="t2", session="s1", text="more", source="cli", wants_title=True))
    )
    world.answer()
    assert world.due == ()


@pytest.mark.parametrize("kind", ["review", "scheduled", "subagent"])
def test_only_conversations_get_one(kind: e.SessionKind) -> None:
    world = World()
    world.do(
        c.SubmitTurn(e.TurnSubmitted(turn="t1", session="s1", text="hello", source="cli", wants_title=True))
    )
    started = e.SessionStarted(
        session="s1", kind=kind, source="review:memory", model="m", system_prompt="You help."
    )
    prefetched = e.ContextPrefetched(turn="t1", model="m", max_iterations=9)
    world.do(c.FinishPrefetch(step=world.due[0].id, prefetched=prefetched, started=started))
    world.reply("done")
    world.record()
    assert world.due == ()


def test_a_turn_that_wants_none_and_a_session_with_a_title_get_none() -> None:
    assert answered(wants_title=False).due == ()
    world = World()
    world.do(
        c.SubmitTurn(e.TurnSubmitted(turn="t1", session="s1", text="hello", source="cli", wants_title=True))
    )
    world.do(c.RenameSession(title="Mine"))
    world.answer()
    assert world.due == ()


def test_it_runs_beside_the_next_turn() -> None:
    world = answered()
    begun(world)
    world.submit("and?")
    assert due(world) == ["turn.prefetch", "session.title"]
    given(world)
    assert due(world) == ["turn.prefetch"]
    world.answer()
    assert world.session.messages[-1].content == "done"


def test_a_title_that_the_user_gives_in_the_meantime_stays() -> None:
    world = answered()
    world.do(c.RenameSession(title="Mine"))
    assert world.due == ()
    world = answered()
    begun(world)
    world.do(c.RenameSession(title="Mine"))
    assert due(world) == ["session.title"]
    given(world)
    assert (world.session.title, world.due) == ("Mine", ())


def test_an_ended_session_gets_none() -> None:
    world = answered()
    world.do(c.EndSession(reason="user"))
    assert world.due == ()


def test_a_session_that_was_taken_back_gets_none() -> None:
    world = answered()
    world.session = fold(world.session, [e.SessionUndone(session="s1", into="s2")])
    assert world.due == ()
    world = answered()
    begun(world)
    world.session = fold(world.session, [e.SessionUndone(session="s1", into="s2")])
    assert given(world) == ["ResponseBooked", "HelperCallEnded"]
    assert (world.session.title, world.due) == (None, ())


def test_a_failed_attempt_is_tried_again_and_given_up_in_the_end() -> None:
    world = answered()
    for attempt, retry_at in enumerate((100.0, 200.0, None), 1):
        (step,) = world.due
        assert step.attempt == attempt
        begun(world)
        failed = failure(required(world.session, STEP), "server", "Busy.", retry_at=retry_at)
        applied(world, fail("session-s1", failed))
    assert (world.due, world.session.title_given_up) == ((), True)
    world.do(
        c.SubmitTurn(e.TurnSubmitted(turn="t2", session="s1", text="more", source="cli", wants_title=True))
    )
    world.answer()
    assert world.due == ()


def test_a_call_without_its_worker_begins_again_and_an_outcome_is_recorded_once() -> None:
    world = answered()
    begun(world, HELD)
    (again,) = begun(world)
    assert isinstance(again, e.HelperCallStarted)
    assert (again.lost, again.attempt, world.session.current) == (HELD, 1, None)
    job = required(world.session, STEP)
    assert job.starts == 2
    given(world)
    with pytest.raises(StepLost):
        applied(world, give(world.session, job, "Tea", (), ()))
    with pytest.raises(StepLost):
        begun(world)


def test_what_builds_without_helper_calls_recorded_of_a_dead_worker_counts() -> None:
    world = answered()
    for reason, attempt in (("shutdown", 1), ("died", 2)):
        begun(world, HELD)
        left = e.StepAbandoned(turn="", step=STEP, worker="w", attempt=1, reason=reason)  # type: ignore[arg-type]
        world.session = fold(world.session, [left])
        (step,) = world.due
        job = required(world.session, STEP)
        assert (step.attempt, job.reserved) == (attempt, None)
    begun(world)
    world.session = fold(
        world.session, [e.StepAbandoned(turn="", step=STEP, worker="w", attempt=2, reason="died")]
    )
    assert (world.due, world.session.title_given_up) == ((), True)


def test_its_cost_is_reserved_and_settled_on_the_session_and_the_day() -> None:
    world = answered()
    accounts: dict[str, Charge] = {}

    def charge(decision: Decision) -> None:
        before = world.session
        for each in charges(before, applied(world, decision), lambda: "2026-11-23"):
            accounts[each.account] = accounts.get(each.account, Charge(account=each.account)) + each

    charge(record_start("session-s1", STEP, HELD))
    assert accounts.keys() == {"session-s1", "day-2026-11-23"}
    assert all(each.reserved == reserved(HELD) for each in accounts.values())
    charge(give(world.session, required(world.session, STEP), "Tea", (), (DONE,)))
    assert all(each.reserved.tokens == 0 and each.spent.tokens == 189 for each in accounts.values())
