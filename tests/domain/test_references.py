"""Given an ensemble, when its members answer or fail, then these are the facts and the conversation."""

from __future__ import annotations

from itertools import permutations

import pytest

from hermes_jobs.errors import StepLost
from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.deliveries.rules import Delivery
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.budgets import charges, reservation_for
from hermes_jobs.kernel.streams.decision import StreamEvents
from hermes_jobs.kernel.streams.reactions import with_reactions
from hermes_jobs.kernel.streams.usage import Reservation, Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.context_notices import notices
from hermes_jobs.kernel.turns.messages import AssistantMessage, UserMessage
from hermes_jobs.kernel.turns.references import BEFORE, HEAD, LEAST_CHARS, Reference, message
from hermes_jobs.kernel.turns.synthetic_messages import is_nudge
from hermes_jobs.kernel.turns.turn import MAX_WORKER_CRASHES
from tests.domain.world import World, complaints


def asked(*members: str) -> World:
    """A world whose first turn has asked nobody yet."""
    world = World()
    world.submit("which one?")
    world.prefetch(*members)
    return world


def kinds(world: World) -> list[str]:
    return [step.kind for step in world.due]


def told(world: World) -> str:
    """The newest message, which holds the answers."""
    newest = world.session.messages[-1]
    assert isinstance(newest, UserMessage)
    return newest.content


def test_the_members_are_due_side_by_side_and_the_model_after_the_last_of_them() -> None:
    world = asked("a", "b", "a")
    assert [(step.id, step.kind, step.queue) for step in world.due] == [
        ("t1-1-r0", "turn.reference", "turns"),
        ("t1-1-r1", "turn.reference", "turns"),
        ("t1-1-r2", "turn.reference", "turns"),
    ]
    for step in world.due:
        world.begin(step)
    first, second, third = world.due
    world.finish_reference(second, "B says so")
    world.finish_reference(third, "A again")
    assert kinds(world) == ["turn.reference"]
    assert [each.content for each in world.session.messages] == ["which one?"], "one answer changes no prompt"
    world.finish_reference(first, "A says no")
    assert kinds(world) == ["turn.call_model"]
    said = [UserMessage("which one?"), AssistantMessage(BEFORE), UserMessage(told(world))]
    assert list(world.session.messages) == said
    assert "3 other models" in told(world)
    assert told(world).index("A says no") < told(world).index("B says so") < told(world).index("A again")
    world.reply("Yes.")
    world.record()
    assert complaints(world.requests[-1]) == []
    (books,) = world.of(e.UsageRecorded)
    assert isinstance(books, e.UsageRecorded)
    assert (books.num_model_calls, books.input_tokens) == (4, 40)
    assert books.cost_usd == pytest.approx(0.004)


def test_the_order_in_which_members_answer_does_not_show() -> None:
    seen = set()
    for order in permutations(range(3)):
        world = asked("a", "b", "c")
        steps = [world.begin(step) for step in world.due]
        for at in order:
            world.finish_reference(steps[at], "" if at == 1 else f"answer {at}")
        seen.add(world.session.messages)
    assert len(seen) == 1


def test_the_next_turns_prompt_begins_with_the_answers() -> None:
    world = asked("a")
    world.finish_reference(world.begin(), "A says so")
    world.answer("Yes.")
    world.submit("and now?")
    world.prefetch("a")
    world.finish_reference(world.begin(), "still")
    world.answer("Still.")
    first, second = world.requests
    assert second[: len(first)] == first


def test_a_member_that_fails_is_left_out_with_its_reason() -> None:
    world = asked("a", "b")
    first, second = (world.begin(step) for step in world.due)
    world.finish_reference(first, "A says so")
    (failed,) = world.finish_reference(second)
    assert isinstance(failed, e.ReferenceFailed)
    assert not failed.alone
    assert notices(failed) == ("the model b is left out: it broke",)
    assert "[Left out: b: it broke]" in told(world)
    assert kinds(world) == ["turn.call_model"]


def test_where_all_members_fail_the_aggregator_answers_alone_and_is_to_say_so() -> None:
    world = asked("a", "b")
    first, second = (world.begin(step) for step in world.due)
    world.finish_reference(second)
    (last,) = world.finish_reference(first)
    assert isinstance(last, e.ReferenceFailed)
    assert last.alone
    assert notices(last)[-1].startswith("no other model could be asked")
    assert "None: no other model could be asked (a: it broke; b: it broke)" in told(world)
    world.answer()
    assert world.session.ended["t1"].status == "completed"


def test_chats_get_a_notice_of_a_failed_member_at_once() -> None:
    world = World()
    submitted = e.TurnSubmitted(
        turn="t1", session="s1", text="which one?", source="telegram", deliver=("telegram:7",)
    )
    world.do(c.SubmitTurn(submitted))
    world.prefetch("a", "b")
    step = world.begin(world.due[0])
    before = world.session
    (failed,) = world.finish_reference(step)
    states = {before.stream: before}
    found = with_reactions(
        [StreamEvents(before.stream, (failed,))],
        lambda stream: states.get(stream) or Delivery(stream=stream),
    )
    (told,) = [each for write in found.writes for each in write.events if isinstance(each, DeliveryRequested)]
    assert (told.target, told.text) == ("telegram:7", "(The model a is left out: it broke.)")


def test_a_failed_call_that_can_be_repeated_is_due_again_later() -> None:
    world = asked("a")
    world.finish_reference(world.begin(), retry_at=7.0)
    (again,) = world.due
    assert (again.id, again.attempt, again.not_before) == ("t1-1-r0", 2, 7.0)
    world.finish_reference(world.begin(), "late")
    assert "late" in told(world)


def test_a_member_whose_workers_keep_dying_is_left_out() -> None:
    world = asked("a")
    for _ in range(MAX_WORKER_CRASHES):
        step = world.begin()
        world.do(c.AbandonStep(step=step.id, worker="w", reason="died"))
    assert kinds(world) == ["turn.call_model"]
    assert "workers in a row died" in told(world)


def test_a_cancel_waits_for_running_members_and_a_retry_asks_those_without_an_answer() -> None:
    world = asked("a", "b", "c")
    first, second, _ = world.due
    world.begin(first)
    world.finish_reference(first, "A says so")
    world.begin(second)
    world.do(c.CancelTurn(turn="t1", by="user"))
    assert [step.id for step in world.due] == ["t1-1-r1"]
    assert "t1" not in world.session.ended
    world.finish_reference(second, kind="cancelled")
    assert world.session.ended["t1"].status == "cancelled"
    world.do(c.ResumeTurn(e.TurnResumed(turn="t1")))
    assert [step.id for step in world.due] == ["t1-1-r1", "t1-1-r2"]
    for step in world.due:
        world.finish_reference(world.begin(step), f"answer of {step.id}")
    assert "A says so" in told(world)
    world.answer()
    assert complaints(world.requests[-1]) == []


def test_a_retry_with_an_ensemble_asks_its_members_first() -> None:
    world = asked()
    step = world.begin()
    world.fail_call(step)
    world.do(c.ResumeTurn(e.TurnResumed(turn="t1", model="m", ensemble="panel", members=("a",))))
    assert [step.id for step in world.due] == ["t1-2-r0"]
    world.finish_reference(world.begin(), "A says so")
    world.answer()
    assert "A says so" in world.requests[-1][-1].content


def test_a_text_that_interrupts_goes_first_once_the_members_have_ended() -> None:
    world = asked("a")
    step = world.begin()
    second = world.submit("stop that", if_busy="interrupt")
    world.finish_reference(step, kind="cancelled")
    assert world.session.current is not None
    assert world.session.current.id == second


def test_a_steering_text_comes_after_the_answers() -> None:
    world = asked("a")
    step = world.begin()
    world.submit("be brief", if_busy="steer")
    world.finish_reference(step, "A says so")
    world.begin()
    assert complaints(world.requests[-1]) == []
    assert world.requests[-1][-1].content.endswith("be brief")


def test_an_answer_that_comes_after_its_claim_was_lost_is_not_due() -> None:
    world = asked("a")
    step = world.begin()
    world.finish_reference(step, "A says so")
    late = e.ReferenceFailed(turn="t1", step=step.id, attempt=1, kind="server", message="", member="a")
    with pytest.raises(StepLost):
        world.do(c.FinishReference(step=step.id, outcome=late))


def test_a_call_of_a_member_holds_its_reservation_until_its_outcome() -> None:
    world = asked("a", "b")
    reserved = Reservation(model="a", input_tokens=100, output_tokens=50, day="2026-11-23", cost_usd=0.02)
    step = world.due[0]
    before = world.session
    begun = world.do(c.BeginStep(step=step.id, reserved=reserved))
    held = {charge.account: charge.reserved.tokens for charge in charges(before, begun, lambda: "2026-11-23")}
    assert held == {"turn-t1": 150, "session-s1": 150, "day-2026-11-23": 150}
    assert reservation_for(world.session, step.id) == reserved
    before = world.session
    abandoned = world.do(c.AbandonStep(step=step.id, worker="w", reason="died"))
    spent = {
        charge.account: charge.spent.tokens for charge in charges(before, abandoned, lambda: "2026-11-23")
    }
    assert spent == {"turn-t1": 150, "session-s1": 150, "day-2026-11-23": 150}
    assert world.session.current is not None
    assert world.session.current.tally.estimated == Usage(100, 50)


def test_the_message_is_no_request_of_the_user_and_cuts_long_answers() -> None:
    long = Reference(id="r0", model="a", text="x" * 50_000)
    text = message((long, Reference(id="r1", model="b", text="short")), 10_000)
    assert text.startswith(HEAD)
    assert is_nudge(text)
    assert "45,000 more characters are left out" in text
    assert text.endswith("[Answer 2 of 2, by b]\nshort")
    assert len(message((long,), 10)) > LEAST_CHARS
