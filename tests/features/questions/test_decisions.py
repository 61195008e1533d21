"""What the agent asks its person: given a question, when it is answered, then these events."""

from __future__ import annotations

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.questions import rules
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.handlers.tool_context import tool_context
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.questions import Answer, content_of, open_questions
from tests.domain.world import World

WHICH = rules.question("Which database?", ("SQLite", "PostgreSQL"))
CLOSED = rules.question("Which database?", ("SQLite", "PostgreSQL"), free_text=False)
SEVERAL = rules.question("Which ones?", ("tests", "docs, too", "release"), several=True, free_text=False)
OPEN_SEVERAL = rules.question("Which ones?", ("tests", "docs"), several=True)
FREE = rules.question("What is it called?")


def asked(request: e.InputRequest = WHICH, *, unattended: bool = False, waits: bool = False) -> World:
    """A turn whose only call asks this; `waits`: also where nobody attends it."""
    world = World()
    world.do(
        c.SubmitTurn(
            e.TurnSubmitted(turn="t1", session="s1", text="hello", source="cli", unattended=unattended)
        )
    )
    world.prefetch()
    world.reply("", [("ask_user", "idempotent")])
    step = world.begin()
    world.do(c.RequestInput(step=step.id, server="", requests=(request,), expires_at=900.0, unattended=waits))
    return world


def answer(world: World, given: Answer, request: e.InputRequest = WHICH, *, by: str = "user") -> None:
    content = content_of(request, given)
    world.do(c.AnswerInput(turn="t1", action="accept", content=content, by=by, now=1.0))


def told(world: World) -> str:
    """What the agent is told when the call is made again."""
    assert world.session.current is not None
    (call,) = world.session.current.calls
    assert call.input is not None
    return rules.told(call.input)


def test_a_question_waits_without_a_worker_and_is_a_value_for_interfaces() -> None:
    world = asked()
    assert [step.not_before for step in world.due] == [900.0]
    (question,) = open_questions(world.session)
    assert (question.turn, question.text, question.server) == ("t1", "Which database?", "")
    assert (question.choices, question.several, question.free_text) == (("SQLite", "PostgreSQL"), False, True)
    assert question.id == f"{question.call} {question.key}"


@pytest.mark.parametrize(
    ("request_", "given", "expected"),
    [
        (WHICH, 2, "PostgreSQL"),
        (WHICH, "1", "SQLite"),
        (WHICH, "postgresql", "PostgreSQL"),
        (WHICH, "Neither: a file", "Neither: a file"),
        (WHICH, [1], "SQLite"),
        (SEVERAL, "1, 3", "tests; release"),
        (SEVERAL, "docs, too", "docs, too"),
        (SEVERAL, [2, "tests", 2], "docs, too; tests"),
        (OPEN_SEVERAL, "only the first, please", "only the first, please"),
        (OPEN_SEVERAL, "docs, and a changelog", "docs; and a changelog"),
        (FREE, "Ada", "Ada"),
        (rules.question("How many?", ("2", "4")), "8", "8"),
    ],
)
def test_it_is_answered_with_numbers_or_words(request_: e.InputRequest, given: Answer, expected: str) -> None:
    world = asked(request_)
    answer(world, given, request_)
    assert told(world) == f"The user answers: {expected}"
    assert [step.not_before for step in world.due] == [0.0]


@pytest.mark.parametrize(
    ("request_", "given", "reason"),
    [
        (CLOSED, "3", "The answer has to be one of SQLite, PostgreSQL, not '3'"),
        (WHICH, "7", "The answer has to be one of SQLite, PostgreSQL, not '7'"),
        (CLOSED, [1, 2], "The answer has to be one, not 2"),
        (SEVERAL, "tests, lunch", "not 'lunch'"),
        (SEVERAL, [], "at least 1 choices"),
        (FREE, "", "at least 1 characters"),
        (FREE, "password: hunter2hunter2", "looks like a key or password"),
        (WHICH, "password: hunter2hunter2", "looks like a key or password"),
        (FREE, "x" * 10_001, "10,000 characters"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_with_the_reason_and_the_question_stays(
    request_: e.InputRequest, given: Answer, reason: str
) -> None:
    world = asked(request_)
    with pytest.raises(Rejected, match=reason):
        answer(world, given, request_)
    assert len(list(open_questions(world.session))) == 1


def test_the_form_is_checked_where_it_is_recorded_whoever_filled_it_in() -> None:
    world = asked(CLOSED)
    with pytest.raises(Rejected, match="has to be one of"):
        world.do(c.AnswerInput(turn="t1", action="accept", content='{"answer":"x"}', by="cli", now=1.0))
    assert world.of(e.InputAnswered) == []


def test_of_two_answers_the_first_counts_and_the_second_is_told_so() -> None:
    world = asked()
    answer(world, 1, by="telegram:12")
    with pytest.raises(Rejected, match=r"already answered \(accept by telegram:12\)") as refused:
        answer(world, 2)
    assert refused.value.kind == "answered"
    assert told(world) == "The user answers: SQLite"


def test_an_answer_after_the_wait_is_too_late_and_the_agent_goes_on() -> None:
    world = asked()
    with pytest.raises(Rejected, match="not answered in time"):
        world.do(c.AnswerInput(turn="t1", action="decline", by="telegram:12", now=900.0))
    (step,) = world.due
    world.begin(step)
    world.do(c.ExpireInput(step=step.id))
    assert told(world) == rules.EXPIRED


def test_a_declined_question_is_no_answer() -> None:
    world = asked()
    world.do(c.AnswerInput(turn="t1", action="decline", by="user", now=1.0))
    assert told(world) == rules.DECLINED


def test_nobody_is_asked_in_an_unattended_turn_unless_its_questions_wait() -> None:
    assert told(asked(unattended=True)) == rules.NOBODY
    assert len(list(open_questions(asked(unattended=True, waits=True).session))) == 1


def test_a_form_of_one_field_is_a_question_also_of_a_server() -> None:
    sure = e.InputRequest(key="k", message="Sure?", fields=(e.InputField(name="sure", kind="boolean"),))
    (question,) = open_questions(asked(sure).session)
    assert (question.choices, question.free_text) == (("yes", "no"), False)
    assert content_of(sure, "yes") == '{"sure":true}'
    two = e.InputRequest(key="k", message="Who?", fields=(*sure.fields, e.InputField(name="n", kind="text")))
    assert list(open_questions(asked(two).session)) == []
    with pytest.raises(Rejected, match="its fields are: sure, n"):
        content_of(two, "x")
    visit = e.InputRequest(key="k", message="Pay.", url="https://example.com/pay")
    assert list(open_questions(asked(visit).session)) == []


@pytest.mark.parametrize(
    ("before", "changes", "own", "after"),
    [
        (None, ["plan"], None, "ask"),
        ("edits", ["plan"], None, "edits"),
        ("edits", ["ask", "plan"], None, "ask"),
        ("full", ["plan"], None, "ask"),
        ("edits", [], "plan", "edits"),
        ("edits", ["plan", "ask"], "plan", "ask"),
    ],
)
def test_a_plan_is_carried_out_in_no_wider_mode_than_the_one_before(
    before: e.Mode | None, changes: list[e.Mode], own: e.Mode | None, after: e.Mode
) -> None:
    world = World()
    opening = e.Opening(mode=before)
    world.do(
        c.SubmitTurn(
            e.TurnSubmitted(turn="t1", session="s1", text="hello", source="cli", mode=own, opening=opening)
        )
    )
    world.prefetch()
    for mode in changes:
        world.do(c.ChangeMode(mode=mode, by="user"))
    world.reply("", [("propose_plan", "idempotent")])
    step = world.begin()
    assert world.session.current is not None
    assert tool_context(world.session, world.session.current, step.id).after_plan == after


@pytest.mark.parametrize("own", [None, "plan"])
def test_an_accepted_plan_ends_plan_mode_where_it_stands(own: e.Mode | None) -> None:
    world = World()
    world.do(c.SubmitTurn(e.TurnSubmitted(turn="t1", session="s1", text="hello", source="cli", mode=own)))
    world.prefetch()
    if own is None:
        world.do(c.ChangeMode(mode="plan", by="user"))
    world.reply("", [("propose_plan", "idempotent")])
    step = world.begin()
    changed = e.ModeChanged(session="s1", mode="ask", by="user", turn="t1")
    finished = e.ToolFinished(turn="t1", call=step.id, ok=True, content=rules.PLAN_ACCEPTED, attempt=1)
    world.do(c.FinishToolCall(step=step.id, outcome=finished, events=(changed,)))
    assert world.session.current is not None
    assert (world.session.current.mode or world.session.mode) == "ask"
    assert world.session.mode == "ask"
    assert not world.session.plan_mode_noted
