"""Input that a server asks for during a call: given a question, when it is answered, then these events."""

from __future__ import annotations

import pytest

from hermes_jobs.errors import Rejected, StepLost
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.call import OpenInput
from hermes_jobs.kernel.turns.inputs import as_mcp
from tests.domain.world import World

NAME = e.InputField(name="name", kind="text", required=True)
FORM = e.InputRequest(key="who", message="Who?", fields=(NAME,))
ADDRESS = e.InputRequest(key="pay", message="Pay first.", url="https://example.com/pay")
SECRET = e.InputRequest(key="pin", message="Your PIN?", refusal="it asks for a secret")


def asked(
    *requests: e.InputRequest, effect: e.Effect = "write", live: bool = False, unattended: bool = False
) -> tuple[World, str, str]:
    """A turn whose only call asks for these; the turn and the call."""
    world = World()
    world.do(
        c.SubmitTurn(
            e.TurnSubmitted(turn="t1", session="s1", text="hello", source="cli", unattended=unattended)
        )
    )
    world.prefetch()
    world.reply("", [("notes__book", effect)])
    step = world.begin()
    ask(world, step.id, *requests, live=live)
    return world, "t1", step.id


def ask(world: World, call: str, *requests: e.InputRequest, live: bool = False, attempt: int = 1) -> None:
    question = c.RequestInput(
        step=call,
        server="notes",
        requests=requests,
        expires_at=900.0,
        state=None if live else "s-1",
        live=live,
        attempt=attempt,
    )
    world.do(question)


def answer(world: World, turn: str, content: str = '{"name":"Ada"}', **more: object) -> None:
    given = {"action": "accept", "by": "user", "now": 1.0, "content": content, **more}
    world.do(c.AnswerInput(turn=turn, **given))  # type: ignore[arg-type]


def answers(world: World) -> list[e.InputAnswered]:
    return [each for each in world.facts if isinstance(each, e.InputAnswered)]


def input_of(world: World, call: str) -> OpenInput:
    assert world.session.current is not None
    found = world.session.current.call(call)
    assert found is not None
    assert found.input is not None
    return found.input


def test_a_call_that_asks_is_due_only_when_the_wait_expires() -> None:
    world, _, call = asked(FORM)
    (step,) = world.due
    assert (step.id, step.not_before, step.attempt) == (call, 900.0, 2)
    world.begin(step)
    assert len(world.of(e.ToolStarted)) == 1


def test_an_answered_call_is_due_at_once_and_made_again_with_the_answer() -> None:
    world, turn, call = asked(FORM)
    answer(world, turn)
    (step,) = world.due
    assert (step.id, step.not_before) == (call, 0.0)
    world.begin(step)
    assert [each.attempt for each in world.facts if isinstance(each, e.ToolStarted)] == [1, 2]
    given = input_of(world, call)
    assert given.request.state == "s-1"
    assert as_mcp(given) == b'{"who":{"action":"accept","content":{"name":"Ada"}}}'
    world.finish_tool(step)
    assert [each.kind for each in world.due] == ["turn.call_model"]


def test_every_request_has_its_own_answer() -> None:
    world, turn, call = asked(FORM, ADDRESS)
    answer(world, turn, key="pay", content="")
    assert world.due[0].not_before == 900.0
    answer(world, turn, action="decline", content="")
    assert world.due[0].not_before == 0.0
    assert as_mcp(input_of(world, call)) == b'{"pay":{"action":"accept"},"who":{"action":"decline"}}'


def test_an_unanswered_question_is_cancelled_and_the_call_continues_with_that() -> None:
    world, _, call = asked(FORM)
    world.begin()
    world.do(c.ExpireInput(step=call))
    (given,) = answers(world)
    assert (given.action, given.by) == ("cancel", "timeout")
    (step,) = world.due
    assert step.not_before == 0.0
    world.begin(step)
    assert len(world.of(e.ToolStarted)) == 2


def test_an_answer_after_the_wait_is_too_late() -> None:
    world, turn, _ = asked(FORM)
    with pytest.raises(Rejected, match="not answered in time"):
        answer(world, turn, now=900.0)


def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays() -> None:
    world, turn, _ = asked(FORM)
    with pytest.raises(Rejected, match="The field name is missing"):
        answer(world, turn, "{}")
    with pytest.raises(Rejected, match="Only an accepted form has fields"):
        answer(world, turn, action="decline")
    assert answers(world) == []
    answer(world, turn)


def test_nothing_is_answered_twice() -> None:
    world, turn, _ = asked(FORM)
    answer(world, turn)
    with pytest.raises(Rejected, match="was already answered"):
        answer(world, turn)


def test_an_unattended_turn_declines() -> None:
    world, _, call = asked(FORM, ADDRESS, unattended=True)
    assert {(each.action, each.by) for each in answers(world)} == {("decline", "unattended")}
    assert world.due[0].not_before == 0.0
    assert input_of(world, call).unanswered == ()


def test_a_request_with_a_refusal_is_declined_and_the_others_are_asked() -> None:
    world, _, call = asked(SECRET, FORM)
    (given,) = answers(world)
    assert (given.key, given.action, given.by) == ("pin", "decline", "policy")
    assert input_of(world, call).unanswered == (FORM,)


def test_a_server_may_ask_again_after_an_answer() -> None:
    world, turn, call = asked(FORM)
    answer(world, turn)
    step = world.begin()
    ask(world, step.id, ADDRESS)
    assert input_of(world, call).unanswered == (ADDRESS,)
    assert input_of(world, call).rounds == 2
    answer(world, turn, content="")
    assert world.begin().attempt == 3


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_question_ends_with_its_turn(is_answered: bool) -> None:
    world, turn, _ = asked(FORM)
    if is_answered:
        answer(world, turn)
    world.do(c.CancelTurn(turn=turn, by="user"))
    assert world.session.ended[turn].status == "cancelled"
    assert world.due == ()
    with pytest.raises(Rejected):
        answer(world, turn)


def test_a_call_that_asks_while_its_turn_is_being_cancelled_is_interrupted() -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("", [("notes__book", "write")])
    step = world.begin()
    world.do(c.CancelTurn(turn="t1", by="user"))
    ask(world, step.id, FORM)
    assert world.of(e.InputRequested) == []
    assert world.session.ended["t1"].status == "cancelled"


@pytest.mark.parametrize(("effect", "result"), [("write", 1), ("read", 0)])
def test_a_worker_that_dies_during_the_retried_call_leaves_an_unknown_outcome(
    effect: e.Effect, result: int
) -> None:
    world, turn, call = asked(FORM, effect=effect)
    answer(world, turn)
    world.begin()
    world.do(c.AbandonStep(step=call, worker="w1", reason="died"))
    assert len(world.of(e.ToolInterrupted)) == result
    if effect == "read":  # made again, with the same answers
        assert as_mcp(input_of(world, call)) == b'{"who":{"action":"accept","content":{"name":"Ada"}}}'
        assert world.due[0].not_before == 0.0


def test_a_live_question_leaves_the_call_under_way() -> None:
    world, turn, call = asked(FORM, live=True)
    (step,) = world.due
    assert (step.not_before, step.attempt) == (0.0, 1)
    answer(world, turn)
    assert input_of(world, call).unanswered == ()
    world.finish_tool(step)
    assert len(world.of(e.ToolStarted)) == 1


def test_a_live_question_is_gone_with_its_worker() -> None:
    world, turn, call = asked(FORM, live=True, effect="read")
    world.do(c.AbandonStep(step=call, worker="w1", reason="died"))
    with pytest.raises(Rejected, match="no such call waiting"):
        answer(world, turn)
    world.begin()
    assert len(world.of(e.ToolStarted)) == 2


def test_a_live_question_of_an_attempt_that_was_taken_over_is_lost() -> None:
    world, _, call = asked(FORM, live=True, effect="read")
    world.do(c.AbandonStep(step=call, worker="w1", reason="died"))
    world.begin()
    with pytest.raises(StepLost):
        ask(world, call, FORM, live=True, attempt=1)


def test_of_two_calls_that_ask_one_has_to_be_named() -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("", [("notes__book", "write"), ("mail__send", "write")])
    for step in world.due:
        world.begin(step)
        ask(world, step.id, FORM)
    with pytest.raises(Rejected, match="Several calls"):
        answer(world, "t1")
    answer(world, "t1", call="t1-1-1")
    assert {step.id: step.not_before for step in world.due} == {"t1-1-0": 900.0, "t1-1-1": 0.0}
