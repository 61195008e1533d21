"""Titles by a model: due after an answer that wants one, beside whatever comes next, and never in its way."""

from __future__ import annotations

import pytest

from hermes_jobs.errors import StepLost
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.accounts import Charge
from hermes_jobs.kernel.streams.budgets import charges, reserved
from hermes_jobs.kernel.streams.usage import Reservation, Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.title_step import MAX_ATTEMPTS, MAX_CRASHES
from tests.domain.world import World

STEP = "s1-title"
HELD = Reservation(model="m", input_tokens=200, output_tokens=500, day="2026-11-23", cost_usd=0.01)
DONE = e.ResponseBooked(turn=None, step=STEP, purpose="title", model="m", usage=Usage(180, 9), cost_usd=0.001)


def answered(*, wants_title: bool = True) -> World:
    world = World()
    world.do(c.SubmitTurn(turn="t1", session="s1", text="hello", source="cli", wants_title=wants_title))
    world.answer()
    return world


def due(world: World) -> list[str]:
    return [step.kind for step in world.due]


def test_a_title_is_due_once_the_first_answer_is_there_and_given_once() -> None:
    world = answered()
    (step,) = world.due
    assert (step.id, step.kind, step.queue, step.turn) == (STEP, "session.title", "reviews", None)
    world.begin(step)
    facts = world.do(c.FinishTitle(step=STEP, title="Tea", responses=(DONE,)))
    assert [type(fact).__name__ for fact in facts] == ["ResponseBooked", "SessionTitled", "TitleEnded"]
    assert (world.session.title, world.session.named, world.due) == ("Tea", "Tea", ())
    world.do(c.SubmitTurn(turn="t2", session="s1", text="more", source="cli", wants_title=True))
    world.answer()
    assert world.due == ()


@pytest.mark.parametrize("kind", ["review", "scheduled", "subagent"])
def test_only_conversations_get_one(kind: e.SessionKind) -> None:
    world = World()
    world.do(c.SubmitTurn(turn="t1", session="s1", text="hello", source="cli", wants_title=True))
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
    world.do(c.SubmitTurn(turn="t1", session="s1", text="hello", source="cli", wants_title=True))
    world.do(c.RenameSession(title="Mine"))
    world.answer()
    assert world.due == ()


def test_it_runs_beside_the_next_turn() -> None:
    world = answered()
    (step,) = world.due
    world.begin(step)
    world.submit("and?")
    assert due(world) == ["turn.prefetch", "session.title"]
    world.do(c.FinishTitle(step=STEP, title="Tea"))
    assert due(world) == ["turn.prefetch"]
    world.answer()
    assert world.session.messages[-1].content == "done"


def test_a_title_that_the_user_gives_in_the_meantime_stays() -> None:
    world = answered()
    world.do(c.RenameSession(title="Mine"))
    assert world.due == ()
    world = answered()
    world.begin(world.due[0])
    world.do(c.RenameSession(title="Mine"))
    assert due(world) == ["session.title"]
    world.do(c.FinishTitle(step=STEP, title="Tea", responses=(DONE,)))
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
    world.begin(world.due[0])
    world.session = fold(world.session, [e.SessionUndone(session="s1", into="s2")])
    facts = world.do(c.FinishTitle(step=STEP, title="Tea", responses=(DONE,)))
    assert [type(fact).__name__ for fact in facts] == ["ResponseBooked", "TitleEnded"]
    assert (world.session.title, world.due) == (None, ())


def test_a_failed_attempt_is_tried_again_and_given_up_in_the_end() -> None:
    world = answered()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        (step,) = world.due
        assert step.attempt == attempt
        world.begin(step)
        world.do(c.FinishTitle(step=STEP, kind="server", message="Busy.", retry_at=100.0 * attempt))
    assert (world.due, world.session.title_given_up) == ((), True)
    world.do(c.SubmitTurn(turn="t2", session="s1", text="more", source="cli", wants_title=True))
    world.answer()
    assert world.due == ()


def test_a_dead_worker_s_attempt_is_taken_over_and_its_outcome_lost() -> None:
    world = answered()
    world.begin(world.due[0])
    world.do(c.AbandonStep(step=STEP, worker="w1", reason="died"))
    (step,) = world.due
    assert (step.attempt, world.session.current) == (2, None)
    for _ in range(MAX_CRASHES - 1):
        world.begin(world.due[0])
        world.do(c.AbandonStep(step=STEP, worker="w1", reason="died"))
    assert world.due == ()
    with pytest.raises(StepLost):
        world.do(c.FinishTitle(step=STEP, title="Tea"))


def test_its_cost_is_reserved_and_settled_on_the_session_and_the_day() -> None:
    world = answered()
    before = world.session
    accounts: dict[str, Charge] = {}

    def charge(facts: tuple[e.SessionEvent, ...]) -> None:
        state = before
        for each in charges(state, facts, "2026-11-23"):
            accounts[each.account] = accounts.get(each.account, Charge(account=each.account)) + each

    charge(world.do(c.BeginStep(step=STEP, reserved=HELD)))
    assert accounts.keys() == {"session-s1", "day-2026-11-23"}
    assert all(each.reserved == reserved(HELD) for each in accounts.values())
    before = world.session
    charge(world.do(c.FinishTitle(step=STEP, title="Tea", responses=(DONE,))))
    assert all(each.reserved.tokens == 0 and each.spent.tokens == 189 for each in accounts.values())
