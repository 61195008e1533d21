"""Given what was said, when this is asked, then these are the facts."""

from __future__ import annotations

import pytest

from hermes_jobs.errors import Rejected, StepLost
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolCall, UserMessage
from hermes_jobs.kernel.turns.turn import MAX_WORKER_CRASHES
from tests.domain.world import World, complaints


def names(facts: object) -> list[str]:
    return [type(fact).__name__ for fact in facts]  # type: ignore[attr-defined]


def kinds(world: World) -> list[str]:
    return [step.kind for step in world.due]


def test_a_text_is_prefetched_asked_answered_and_recorded() -> None:
    world = World()
    turn = world.submit("hello")
    assert kinds(world) == ["turn.prefetch"]
    world.prefetch()
    assert kinds(world) == ["turn.call_model"]
    world.reply("hi")
    assert kinds(world) == ["turn.record_usage"]
    world.record()
    assert world.due == ()
    assert world.session.ended[turn].status == "completed"
    assert names(world.facts) == [
        "TurnSubmitted",
        "SessionStarted",
        "ContextPrefetched",
        "ModelCallStarted",
        "ModelReplied",
        "UsageRecorded",
        "TurnCompleted",
    ]
    assert world.session.messages == (UserMessage("hello"), AssistantMessage("hi"))


def test_tool_calls_of_one_reply_are_due_together_and_the_last_result_asks_the_model_again() -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("", [("a", "read"), ("b", "write")])
    first, second = world.due
    assert (first.kind, second.kind) == ("turn.run_tool", "turn.run_tool")
    assert first.queue == "tools"
    world.begin(first)
    world.begin(second)
    world.finish_tool(second)
    assert world.due == (first,)
    world.finish_tool(first)
    assert kinds(world) == ["turn.call_model"]
    assert complaints(world.session.messages) == []


def test_a_call_that_goes_after_another_waits_for_it() -> None:
    world = World()
    world.submit()
    world.prefetch()
    step = world.begin()
    reply = e.ModelReplied(
        turn="t1",
        step=step.id,
        content="",
        model="m",
        finish_reason="tool_calls",
        tool_calls=_calls("write_file", "write_file", "read_file"),
        plan=(
            e.PlannedCall(call="t1-1-0", effect="write"),
            e.PlannedCall(call="t1-1-1", effect="write", after=("t1-1-0",)),
            e.PlannedCall(call="t1-1-2", effect="read"),
        ),
    )
    world.do(c.FinishModelCall(step=step.id, outcome=reply))
    assert [step.id for step in world.due] == ["t1-1-0", "t1-1-2"]
    world.finish_tool(world.begin(world.due[0]))
    assert [step.id for step in world.due] == ["t1-1-1", "t1-1-2"]


def _calls(*tools: str) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(f"p{at}", name, "{}") for at, name in enumerate(tools))


def test_a_busy_session_queues_a_text_and_runs_it_after() -> None:
    world = World()
    world.submit("one")
    second = world.submit("two")
    world.answer()
    assert world.session.current is not None
    assert world.session.current.id == second
    world.answer()
    assert [m.content for m in world.session.messages] == ["one", "done", "two", "done"]


def test_collected_texts_become_one_turn_until_its_prefetch() -> None:
    world = World()
    world.submit("one")
    second = world.submit("two", if_busy="collect")
    third = world.submit("three", if_busy="collect")
    world.answer()
    fourth = world.submit("four", if_busy="collect")
    world.prefetch()
    late = world.submit("five", if_busy="collect")
    assert world.session.messages[-1] == UserMessage("two\n\nthree\n\nfour")
    world.answer()
    assert {turn: world.session.ended[turn].into for turn in (third, fourth)} == {
        third: second,
        fourth: second,
    }
    assert world.session.current is not None
    assert world.session.current.id == late


def test_collecting_keeps_the_order_of_texts_that_were_queued_between() -> None:
    world = World()
    world.submit("one")
    world.submit("two", if_busy="collect")
    world.submit("three", if_busy="queue")
    world.submit("four", if_busy="collect")
    for _ in range(4):
        world.answer()
    said = [m.content for m in world.session.messages if isinstance(m, UserMessage)]
    assert said == ["one", "two", "three", "four"]


def test_a_steered_text_reaches_the_next_model_call() -> None:
    world = World()
    running = world.submit("one")
    world.prefetch()
    world.reply("", [("a", "read")])
    steer = world.submit("and hurry", if_busy="steer")
    world.finish_tool(world.begin())
    world.reply("done")
    assert world.session.ended[steer].into == running
    assert "and hurry" in world.session.messages[-2].content
    assert complaints(world.requests[-1]) == []


def test_a_steer_that_comes_after_the_last_call_becomes_the_next_turn() -> None:
    world = World()
    world.submit("one")
    world.prefetch()
    world.reply("done")
    steer = world.submit("one more thing", if_busy="steer")
    world.record()
    assert world.session.current is not None
    assert world.session.current.id == steer


def test_an_interrupting_text_cancels_the_running_turn_and_runs_before_those_that_wait() -> None:
    world = World()
    first = world.submit("one")
    world.prefetch()
    step = world.begin()
    world.submit("two")
    urgent = world.submit("stop, do this", if_busy="interrupt")
    assert kinds(world) == ["turn.call_model"], "the call under way is still waited for"
    world.fail_call(step, kind="cancelled")
    assert world.session.ended[first].status == "cancelled"
    assert world.session.current is not None
    assert world.session.current.id == urgent


def test_a_busy_session_can_refuse() -> None:
    world = World()
    world.submit("one")
    with pytest.raises(Rejected, match="busy"):
        world.submit("two", if_busy="reject")
    assert len(world.facts) == 1


def test_cancelling_a_waiting_text_ends_it_at_once_with_its_books_closed() -> None:
    world = World()
    world.submit("one")
    second = world.submit("two")
    facts = world.do(c.CancelTurn(turn=second, by="user"))
    assert names(facts) == ["UsageRecorded", "TurnCancelled"]


def test_cancelling_between_steps_ends_the_turn_at_once() -> None:
    world = World()
    turn = world.submit("one")
    world.prefetch()
    facts = world.do(c.CancelTurn(turn=turn, by="user"))
    assert names(facts) == ["TurnCancelRequested", "UsageRecorded", "TurnCancelled"]
    assert world.due == ()


def test_cancelling_amid_tools_waits_for_those_under_way_and_answers_the_others() -> None:
    world = World()
    turn = world.submit("one")
    world.prefetch()
    world.reply("", [("a", "read"), ("b", "write"), ("c", "read")])
    first, second, _ = world.due
    world.begin(first)
    world.begin(second)
    world.do(c.CancelTurn(turn=turn, by="user"))
    assert [step.id for step in world.due] == [first.id, second.id]
    world.interrupt_tool(first)
    world.finish_tool(second)
    assert world.session.ended[turn].status == "cancelled"
    world.submit("next")
    world.prefetch()
    world.begin()
    assert complaints(world.requests[-1]) == []


def test_cancelling_a_finished_turn_is_refused_with_how_it_ended() -> None:
    world = World()
    turn = world.submit()
    world.answer()
    with pytest.raises(Rejected, match="already completed"):
        world.do(c.CancelTurn(turn=turn, by="user"))


def test_a_failed_call_is_due_again_at_its_time_with_the_next_attempt() -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.fail_call(world.begin(), retry_at=99.0)
    (step,) = world.due
    assert (step.attempt, step.not_before) == (2, 99.0)


def test_a_call_that_failed_for_good_fails_the_turn_in_the_same_append() -> None:
    world = World()
    turn = world.submit()
    world.prefetch()
    step = world.begin()
    world.fail_call(step, kind="auth")
    assert names(world.facts[-3:]) == ["ModelCallFailed", "UsageRecorded", "TurnFailed"]
    assert world.session.ended[turn].status == "failed"


def test_a_failed_turn_is_resumed_after_its_last_outcome_under_its_own_id() -> None:
    world = World()
    turn = world.submit("one")
    world.prefetch()
    world.reply("", [("a", "read")])
    world.finish_tool(world.begin())
    world.fail_call(world.begin(), kind="auth")
    world.do(c.ResumeTurn(e.TurnResumed(turn=turn)))
    (step,) = world.due
    assert step.kind == "turn.call_model"
    world.reply("done")
    world.record()
    assert world.session.ended[turn].status == "completed"
    assert len(world.of(e.TurnSubmitted)) == 1


def test_a_turn_resumed_after_others_is_repeated_at_the_end() -> None:
    world = World()
    turn = world.submit("one")
    world.prefetch()
    world.fail_call(world.begin(), kind="auth")
    world.submit("two")
    world.answer()
    world.do(c.ResumeTurn(e.TurnResumed(turn=turn)))
    world.answer("late")
    assert [m.content for m in world.session.messages][-2:] == ["one", "late"]
    assert complaints(world.requests[-1]) == []


def test_a_resumed_turn_is_begun_again_as_often_as_a_new_one() -> None:
    world = World()
    turn = world.submit()
    for _ in range(2):
        for _ in range(MAX_WORKER_CRASHES):
            assert turn not in world.session.ended
            world.do(c.AbandonStep(step=f"{turn}-prefetch", worker="w1", reason="died"))
        assert world.session.ended[turn].status == "failed"
        world.do(c.ResumeTurn(e.TurnResumed(turn=turn)))
    world.answer()
    assert world.session.ended[turn].status == "completed"


@pytest.mark.parametrize(("finish_reason", "enlargements"), [("stop", 0), ("length", 1)])
def test_an_empty_answer_that_was_cut_off_is_asked_for_with_room_for_more(
    finish_reason: str, enlargements: int
) -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("", finish_reason=finish_reason)
    assert world.session.current is not None
    assert world.session.current.empty_replies == 1
    assert world.session.current.output_limit_raises == enlargements


def test_only_failed_and_cancelled_turns_can_be_resumed() -> None:
    world = World()
    turn = world.submit()
    with pytest.raises(Rejected, match="not ended"):
        world.do(c.ResumeTurn(e.TurnResumed(turn=turn)))
    world.answer()
    with pytest.raises(Rejected, match="only failed, cancelled"):
        world.do(c.ResumeTurn(e.TurnResumed(turn=turn)))


def test_at_the_iteration_limit_one_more_call_asks_for_a_closing_answer() -> None:
    world = World(max_iterations=2)
    turn = world.submit()
    world.prefetch()
    for _ in range(2):
        world.reply("", [("a", "read")])
        world.finish_tool(world.begin())
    assert world.session.current is not None
    assert world.session.current.finalizing
    world.reply("that is all I have")
    world.record()
    (completed,) = world.of(e.TurnCompleted)
    assert completed == e.TurnCompleted(turn=turn, answer="that is all I have", stopped_by="max_iterations")


def test_an_empty_answer_is_asked_for_twice_more_then_the_turn_fails_saying_so() -> None:
    world = World()
    turn = world.submit()
    world.prefetch()
    for _ in range(3):
        world.reply("  ")
    assert world.session.ended[turn].status == "failed"
    (failed,) = world.of(e.TurnFailed)
    assert isinstance(failed, e.TurnFailed)
    assert failed.kind == "empty_answer"
    assert all(complaints(request) == [] for request in world.requests)


def test_an_answer_cut_by_the_output_limit_is_continued_and_joined() -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("one ", finish_reason="length")
    world.reply("two ", finish_reason="length")
    world.reply("three")
    world.record()
    (completed,) = world.of(e.TurnCompleted)
    assert isinstance(completed, e.TurnCompleted)
    assert completed.answer == "one two three"
    assert completed.stopped_by is None


def test_a_tool_call_cut_by_the_output_limit_is_never_run() -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("", [("a", "write")], finish_reason="length")
    (step,) = world.due
    assert step.kind == "turn.call_model"
    assert world.session.current is not None
    assert world.session.current.output_limit_raises == 1


def test_three_rounds_of_invalid_calls_fail_the_turn() -> None:
    world = World()
    turn = world.submit()
    world.prefetch()
    for _ in range(3):
        world.reply("", [("nope", "read")])
        world.finish_tool(world.begin(), "Error: unknown tool", ok=False, invalid=True)
    assert world.session.ended[turn].status == "failed"


def test_a_dead_workers_write_is_answered_as_unknown_and_never_run_again() -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("", [("a", "write")])
    step = world.begin()
    world.do(c.AbandonStep(step=step.id, worker="w1", reason="died"))
    assert kinds(world) == ["turn.call_model"]
    assert "unknown" in world.session.messages[-1].content


def test_a_dead_workers_read_is_due_again() -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("", [("a", "read")])
    step = world.begin()
    world.do(c.AbandonStep(step=step.id, worker="w1", reason="died"))
    (again,) = world.due
    assert (again.id, again.attempt) == (step.id, 2)


def test_a_shutdown_counts_no_attempt() -> None:
    world = World()
    world.submit()
    world.prefetch()
    step = world.begin()
    world.do(c.AbandonStep(step=step.id, worker="w1", reason="shutdown"))
    assert world.due == (step,)


def test_a_step_that_kills_every_worker_ends_its_turn() -> None:
    world = World()
    turn = world.submit()
    world.prefetch()
    for _ in range(5):
        world.do(c.AbandonStep(step=world.begin().id, worker="w1", reason="died"))
    assert world.session.ended[turn].status == "failed"


def _asked_for_approval() -> tuple[World, str, str]:
    world = World()
    turn = world.submit()
    world.prefetch()
    step = world.begin()
    call = f"{step.id}-0"
    reply = e.ModelReplied(
        turn=turn,
        step=step.id,
        content="",
        model="m",
        finish_reason="tool_calls",
        tool_calls=_calls("terminal"),
        plan=(e.PlannedCall(call=call, effect="write"),),
    )
    asked = e.ApprovalRequested(turn=turn, call=call, digest="d", rule="sudo", expires_at=900.0)
    world.do(c.FinishModelCall(step=step.id, outcome=reply, approvals=(asked,)))
    return world, turn, call


def test_a_call_that_needs_approval_is_due_only_when_the_wait_expires() -> None:
    world, _, call = _asked_for_approval()
    (step,) = world.due
    assert (step.id, step.not_before) == (call, 900.0)
    world.begin(step)
    assert world.of(e.ToolStarted) == []
    world.do(c.ExpireApproval(step=call))
    assert names(world.facts[-2:]) == ["ApprovalDenied", "ToolFinished"]
    assert kinds(world) == ["turn.call_model"]


def test_an_approved_call_is_due_at_once() -> None:
    world, turn, call = _asked_for_approval()
    world.do(c.ApproveCall(turn=turn, call=None, by="user"))
    (step,) = world.due
    assert (step.id, step.not_before) == (call, 0.0)
    world.begin(step)
    assert len(world.of(e.ToolStarted)) == 1


def test_an_approval_that_comes_after_the_wait_is_too_late() -> None:
    world, turn, _ = _asked_for_approval()
    with pytest.raises(Rejected, match="not approved in time"):
        world.do(c.ApproveCall(turn=turn, call=None, by="user", now=900.0))
    world.do(c.ApproveCall(turn=turn, call=None, by="user", now=899.9))
    assert names(world.facts[-1:]) == ["ApprovalGiven"]


def test_a_denied_call_is_answered_to_the_model() -> None:
    world, turn, _ = _asked_for_approval()
    world.do(c.DenyCall(turn=turn, call=None, by="user"))
    assert kinds(world) == ["turn.call_model"]
    assert "refused by user" in world.session.messages[-1].content


def test_cancelling_ends_the_wait_for_approval() -> None:
    world, turn, _ = _asked_for_approval()
    world.do(c.CancelTurn(turn=turn, by="user"))
    assert world.session.ended[turn].status == "cancelled"
    assert world.due == ()


def test_an_outcome_of_a_step_that_is_not_due_is_refused() -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("done")
    with pytest.raises(StepLost):
        world.do(c.BeginStep(step="t1-1"))


def test_an_ended_session_takes_no_text() -> None:
    world = World()
    world.submit()
    world.answer()
    world.do(c.EndSession())
    with pytest.raises(Rejected, match="has ended"):
        world.submit("more")


def test_usage_is_the_sum_of_all_responses_and_recorded_once() -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("", [("a", "read")])
    world.finish_tool(world.begin())
    world.reply("done")
    world.record()
    (usage,) = world.of(e.UsageRecorded)
    assert isinstance(usage, e.UsageRecorded)
    assert (usage.input_tokens, usage.output_tokens, usage.num_model_calls, usage.num_tool_calls) == (
        20,
        10,
        2,
        1,
    )
    assert usage.cost_usd == pytest.approx(0.002)


def test_a_turn_that_has_ended_is_rated_and_the_last_rating_counts() -> None:
    world = World()
    turn = world.submit("hello")
    with pytest.raises(Rejected, match="has not ended"):
        world.do(c.RateTurn(e.TurnRated(turn=turn, rating="up", by="user")))
    world.prefetch()
    world.reply("hi")
    world.record()
    for rating, note in (("none", ""), ("up", ""), ("up", ""), ("down", "Wrong."), ("none", "")):
        world.do(c.RateTurn(e.TurnRated(turn=turn, rating=rating, by="user", note=note)))  # type: ignore[arg-type]
    rated = [each for each in world.facts if isinstance(each, e.TurnRated)]
    assert [(each.rating, each.note) for each in rated] == [("up", ""), ("down", "Wrong."), ("none", "")]
    assert world.session.ended[turn].rated == rated[-1]
    assert world.due == ()
    with pytest.raises(Rejected, match="no turn"):
        world.do(c.RateTurn(e.TurnRated(turn="t99", rating="up", by="user")))


def test_a_merged_turn_is_rated_as_the_one_it_went_into() -> None:
    world = World()
    world.submit("one", if_busy="collect")
    other = world.submit("two", if_busy="collect")
    world.prefetch()
    world.reply("both")
    world.record()
    with pytest.raises(Rejected, match="went into turn"):
        world.do(c.RateTurn(e.TurnRated(turn=other, rating="up", by="user")))
