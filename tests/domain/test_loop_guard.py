"""The same call with the same result, again and again: warned of, refused, and the turn asked to conclude.

`world` is a turn of an older log, whose first refusal ends it; `guarded` one of this build.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.loop_guard import (
    MAX_REFUSALS,
    REFUSAL,
    WARNING,
    RepeatedCall,
    count_call,
    is_blocked,
    with_warning,
)
from hermes_jobs.kernel.turns.messages import ToolCall, UserMessage
from hermes_jobs.kernel.turns.rounds import repeats_before
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.synthetic_messages import CONCLUDE, STOPPED_WITHOUT_WORDS
from hermes_jobs.kernel.turns.turn import Turn
from tests.domain.world import World, complaints, turn_of

LOOK = ToolCall("p", "look", '{"at": 1, "how": "well"}')


def turn_in(world: World) -> Turn:
    assert world.session.current is not None
    return world.session.current


def rounds(world: World, *results: str, name: str = "look", effect: e.Effect = "read") -> list[str]:
    """One call a round, answered as a worker would that has this result; what the model reads."""
    read = []
    for result in results:
        world.reply("", [(name, effect)])
        read.append(answer(world, world.due[0], result))
    return read


def answer(world: World, step: Step, result: str) -> str:
    """Run a due call as a worker would that has this result; what the model reads."""
    world.begin(step)
    turn = turn_in(world)
    call = turn.call(step.id)
    assert call is not None
    known = repeats_before(turn, step.id)
    refused = is_blocked(known, call.request)
    content = REFUSAL if refused else with_warning(known, step.id, call.request, result)
    world.finish_tool(step, content, ok=not refused)
    return content


@pytest.fixture
def world() -> World:
    world = World()
    world.submit()
    world.prefetch()
    return world


@pytest.fixture
def guarded() -> World:
    world = World(max_iterations=90, max_refusals=MAX_REFUSALS)
    world.submit()
    world.prefetch()
    return world


def test_a_refused_call_ends_the_turn_only_after_three_refusals(guarded):
    rounds(guarded, *["same"] * 4)
    for _ in range(MAX_REFUSALS):
        assert not turn_in(guarded).finalizing
        assert rounds(guarded, "same") == [REFUSAL]
    assert turn_in(guarded).finalizing
    assert guarded.session.messages[-1] == UserMessage(CONCLUDE["loop_guard"])
    assert all(complaints(request) == [] for request in guarded.requests)


def test_the_same_test_after_an_edit_is_no_loop(guarded):
    for edit in range(20):
        assert rounds(guarded, f"changed line {edit}", name="patch", effect="write") == [
            f"changed line {edit}"
        ]
        assert rounds(guarded, "1 failed", name="terminal", effect="write") == ["1 failed"]
    assert not turn_in(guarded).finalizing


def test_an_edit_and_the_test_in_one_reply_count_in_their_order(guarded):
    rounds(guarded, *["1 failed"] * 4, name="test")
    guarded.reply("", [("patch", "write"), ("test", "read")])
    first, second = guarded.due
    assert answer(guarded, first, "changed") == "changed"
    assert answer(guarded, second, "1 failed") == "1 failed"
    assert not turn_in(guarded).finalizing


def test_an_edit_that_failed_changes_nothing(guarded):
    for edit in range(4):
        guarded.reply("", [("patch", "write")])
        step = guarded.begin()
        guarded.finish_tool(step, f"Error: not found {edit}", ok=False)
        rounds(guarded, "1 failed", name="test")
    assert rounds(guarded, "1 failed", name="test") == [REFUSAL]


def test_two_commands_that_take_turns_are_a_loop_although_each_could_change_something(guarded):
    read = []
    for _ in range(6):
        read += rounds(guarded, "a.txt", name="list", effect="write")
        read += rounds(guarded, "1 failed", name="test", effect="write")
    assert read[-2:] == [REFUSAL, REFUSAL]


def test_a_turn_that_the_guard_stopped_may_try_again_when_it_is_continued(guarded):
    rounds(guarded, *["same"] * (4 + MAX_REFUSALS))
    guarded.reply("So far.")
    guarded.record()
    guarded.do(c.ResumeTurn(e.TurnResumed(turn="t1"), only_stopped=True))
    guarded.prefetch()
    assert rounds(guarded, "same") == ["same"]


def test_the_third_and_fourth_same_result_carry_a_warning_and_the_fifth_call_is_refused(world):
    assert rounds(world, *["same"] * 5) == ["same", "same", f"{WARNING}same", f"{WARNING}same", REFUSAL]


def test_after_the_refusal_the_model_is_asked_once_more_to_conclude(world):
    rounds(world, *["same"] * 5)
    assert turn_in(world).finalizing
    assert world.session.messages[-1] == UserMessage(CONCLUDE["loop_guard"])
    world.reply("That is all I know.", [("look", "read")])
    world.record()
    ended = world.of(e.TurnCompleted)
    assert ended == [e.TurnCompleted(turn="t1", answer="That is all I know.", stopped_by="loop_guard")]
    assert all(complaints(request) == [] for request in world.requests)


def test_a_model_that_concludes_without_words_is_spoken_for(world):
    rounds(world, *["same"] * 5)
    world.reply("")
    world.record()
    (ended,) = world.of(e.TurnCompleted)
    assert isinstance(ended, e.TurnCompleted)
    assert ended.answer == STOPPED_WITHOUT_WORDS["loop_guard"]


def test_another_result_begins_anew(world):
    assert rounds(world, "a", "a", "b", "b", "b", "a") == ["a", "a", "b", "b", f"{WARNING}b", "a"]
    assert not turn_in(world).finalizing


def test_other_calls_in_between_do_not_hide_a_loop(world):
    for _ in range(4):
        rounds(world, "same")
        rounds(world, "same", name="else")
    assert rounds(world, "same") == [REFUSAL]


def test_the_same_arguments_are_the_same_however_they_are_written():
    repeats = count_call((), "c1", LOOK, "x")
    spaced = ToolCall("q", "look", '{ "how":"well","at":1}')
    assert [each.count for each in count_call(repeats, "c2", spaced, "x")] == [2]
    assert len(count_call(repeats, "c2", ToolCall("q", "look", '{"at": 2}'), "x")) == 2
    assert len(count_call(repeats, "c2", ToolCall("q", "peek", LOOK.arguments), "x")) == 2


@pytest.mark.parametrize("arguments", ["", "{broken", "[" * 5_000])
def test_arguments_that_cannot_be_read_are_compared_as_they_are(arguments):
    asked = ToolCall("p", "look", arguments)
    assert [each.count for each in count_call(count_call((), "c1", asked, "x"), "c2", asked, "x")] == [2]


def test_a_result_that_was_kept_apart_is_the_same_under_its_own_name():
    repeats: tuple[RepeatedCall, ...] = ()
    for call in ("t1-1-0", "t1-2-0", "t1-3-0"):
        shown = with_warning(repeats, call, LOOK, f"kept as results/{call}.txt")
        repeats = count_call(repeats, call, LOOK, shown)
    assert shown.startswith(WARNING)
    assert [each.count for each in repeats] == [3]


def test_a_turn_that_is_retried_may_try_again(world):
    rounds(world, *["same"] * 4)
    world.do(c.CancelTurn(turn="t1", by="user"))
    world.do(c.ResumeTurn(e.TurnResumed(turn="t1")))
    assert rounds(world, "same") == ["same"]


def test_the_limit_of_iterations_is_still_called_by_its_name():
    world = World(max_iterations=2)
    world.submit()
    world.prefetch()
    rounds(world, "a", "b")
    world.reply("So far.")
    world.record()
    assert world.of(e.TurnCompleted) == [
        e.TurnCompleted(turn="t1", answer="So far.", stopped_by="max_iterations")
    ]


@given(st.lists(st.sampled_from("ab"), max_size=12))
def test_a_call_is_refused_exactly_after_four_equal_results_in_a_row(results):
    repeats: tuple[RepeatedCall, ...] = ()
    in_a_row, last = 0, ""
    for number, result in enumerate(results):
        assert is_blocked(repeats, LOOK) == (in_a_row >= 4)
        if in_a_row >= 4:
            break
        shown = with_warning(repeats, f"c{number}", LOOK, result)
        in_a_row, last = (in_a_row + 1 if result == last else 1), result
        assert shown.startswith(WARNING) == (in_a_row >= 3)
        repeats = count_call(repeats, f"c{number}", LOOK, shown)


def test_the_order_in_which_equal_calls_of_one_round_end_leaves_no_trace():
    ends = []
    for order in ((0, 1, 2), (2, 0, 1)):
        world = World()
        world.submit()
        world.prefetch()
        world.reply("", [("look", "read")] * 3)
        steps = world.due
        for step in steps:
            world.begin(step)
        for at in order:
            assert turn_of(steps[at]) == "t1"
            world.finish_tool(steps[at], "ab"[at % 2])
        ends.append(world.session)
    assert ends[0] == ends[1]
