"""A turn that a limit stopped continues where it was; one that no limit stopped is refused."""

from __future__ import annotations

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import AssistantMessage, UserMessage
from hermes_jobs.kernel.turns.synthetic_messages import GO_ON, GO_ON_WITH
from tests.domain.world import World, complaints

CONTINUE = c.ResumeTurn(e.TurnResumed(turn="t1"), only_stopped=True)


def stopped(text: str = "Tidy up.") -> World:
    """A turn that has ended at its limit of one round of tool calls."""
    world = World(max_iterations=1)
    world.submit(text)
    world.prefetch()
    world.reply("", [("look", "read")])
    world.finish_tool(world.begin(), "a.txt")
    world.reply("So far.")
    world.record()
    return world


def test_a_continued_turn_has_its_tools_and_a_new_limit():
    world = stopped()
    world.do(CONTINUE)
    world.prefetch()
    assert world.session.messages[-2:] == (AssistantMessage("So far."), UserMessage(GO_ON))
    world.reply("", [("look", "read")])
    world.finish_tool(world.begin(), "b.txt")
    world.reply("Done.")
    world.record()
    ends = world.of(e.TurnCompleted)
    assert [(end.answer, end.stopped_by) for end in ends if isinstance(end, e.TurnCompleted)] == [
        ("So far.", "max_iterations"),
        ("Done.", "max_iterations"),
    ]
    assert all(complaints(request) == [] for request in world.requests)


def test_each_request_begins_with_the_one_before_it():
    world = stopped()
    world.do(CONTINUE)
    world.prefetch()
    world.reply("Done.")
    for before, after in zip(world.requests, world.requests[1:], strict=False):
        assert after[: len(before)] == before


def test_the_request_is_named_again_where_others_came_in_between():
    world = stopped("Tidy up.")
    world.submit("And you?")
    world.prefetch()
    world.reply("Fine.")
    world.record()
    world.do(CONTINUE)
    world.prefetch()
    assert world.session.messages[-1] == UserMessage(GO_ON_WITH.format(text="Tidy up."))


def test_it_waits_behind_a_running_turn():
    world = stopped()
    world.submit("And you?")
    world.do(CONTINUE)
    assert [turn.id for turn in world.session.waiting] == ["t1"]


def test_texts_collected_with_it_are_sent_too():
    world = World(max_iterations=1)
    world.submit("Tidy up.", if_busy="collect")
    world.prefetch()
    world.reply("", [("look", "read")])
    world.finish_tool(world.begin(), "a.txt")
    world.reply("So far.")
    world.record()
    world.do(CONTINUE)
    world.submit("The attic, too.", if_busy="collect")
    world.prefetch()
    assert world.session.messages[-1] == UserMessage(f"{GO_ON}\n\nThe attic, too.")


def test_a_turn_without_budget_is_continued_after_its_last_outcome():
    world = World()
    world.submit()
    world.prefetch()
    (step,) = world.due
    world.do(c.FailTurn(step=step.id, kind="budget", message="The budget is used up."))
    before = world.session.messages
    world.do(CONTINUE)
    assert (world.session.messages, world.due[0].kind) == (before, "turn.call_model")


@pytest.mark.parametrize(
    ("kind", "hint"), [("completed", "another message"), ("failed", "turns retry t1"), ("running", "Wait")]
)
def test_a_turn_that_no_limit_stopped_is_refused(kind, hint):
    world = World()
    world.submit()
    world.prefetch()
    if kind == "failed":
        world.fail_call(world.begin())
    elif kind == "completed":
        world.reply("Done.")
        world.record()
    with pytest.raises(Rejected) as refused:
        world.do(CONTINUE)
    assert hint in refused.value.hint
