"""Answers with a schema: one that fits completes the turn, another is corrected once, then the turn fails."""

from __future__ import annotations

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.messages import AssistantMessage, UserMessage
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.synthetic_messages import is_nudge, schema_note, without_notes
from tests.domain.world import World, complaints

SCHEMA = '{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}'
GOOD, BAD, PROSE = '{"age": 36}', '{"age": "36"}', "She is 36."


def asked(schema: str = SCHEMA, *, max_iterations: int = 15) -> World:
    world = World(max_iterations=max_iterations)
    submitted = e.TurnSubmitted(
        turn="t1", session="s1", text="How old is Ada?", source="cli", answer_schema=schema
    )
    world.do(c.SubmitTurn(submitted))
    world.prefetch()
    return world


def ends(world: World) -> list[tuple[str, str]]:
    """Kind and content of every end of a turn."""
    told = []
    for fact in world.facts:
        if isinstance(fact, e.TurnCompleted):
            told.append((fact.stopped_by or "completed", fact.answer))
        elif isinstance(fact, e.TurnFailed):
            told.append((fact.kind, fact.message))
    return told


def test_the_schema_is_sent_with_the_text() -> None:
    said = asked().session.messages[-1]
    assert said == UserMessage(f"How old is Ada?\n\n{schema_note(SCHEMA)}")
    assert without_notes(said.content) == "How old is Ada?"


@pytest.mark.parametrize("answer", [GOOD, f"```json\n{GOOD}\n```", f" {GOOD}\n"])
def test_an_answer_that_fits_is_the_document_alone(answer: str) -> None:
    world = asked()
    world.reply(answer)
    world.record()
    assert ends(world) == [("completed", GOOD)]
    assert world.of(e.AnswerRejected) == []


@pytest.mark.parametrize(
    ("answer", "fault"), [(BAD, "$.age: '36' is not of type 'integer'"), (PROSE, "it is not JSON")]
)
def test_one_that_does_not_fit_is_asked_for_once_more_with_its_faults(answer: str, fault: str) -> None:
    world = asked()
    world.reply(answer)
    (verdict,) = world.of(e.AnswerRejected)
    assert isinstance(verdict, e.AnswerRejected)
    assert verdict.step == "t1-1"
    assert fault in verdict.faults[0]
    assert [step.id for step in world.due] == ["t1-2"]
    before, correction = world.session.messages[-2:]
    assert before == AssistantMessage(answer)
    assert isinstance(correction, UserMessage)
    assert fault in correction.content
    assert correction.content.endswith(SCHEMA)
    assert is_nudge(correction.content)
    world.reply(GOOD)
    world.record()
    assert ends(world) == [("completed", GOOD)]


def test_after_a_second_one_the_turn_fails_and_says_why() -> None:
    world = asked()
    world.reply(PROSE)
    world.reply(BAD)
    ((kind, message),) = ends(world)
    assert kind == "schema"
    assert "$.age: '36' is not of type 'integer'" in message
    assert world.session.ended["t1"].stopped_by == "schema"
    assert world.due == ()


def test_usage_is_recorded_before_the_failure() -> None:
    world = asked()
    world.reply(PROSE)
    world.reply(PROSE)
    (used,) = world.of(e.UsageRecorded)
    assert isinstance(used, e.UsageRecorded)
    assert used.num_model_calls == 2


def test_a_correction_calls_no_tools() -> None:
    world = asked()
    world.reply(PROSE)
    turn = world.session.current
    assert turn is not None
    assert not turn.may_call_tools
    world.reply(GOOD, [("look", "read")])
    assert world.of(e.ToolStarted) == []
    world.record()
    assert ends(world) == [("completed", GOOD)]


def test_tools_may_be_called_before_the_answer() -> None:
    world = asked()
    world.reply("Let me look.", [("look", "read")])
    world.finish_tool(world.begin(), "36")
    world.reply(GOOD)
    world.record()
    assert ends(world) == [("completed", GOOD)]


def test_an_answer_at_a_limit_has_to_fit_too() -> None:
    world = asked(max_iterations=1)
    world.reply("", [("look", "read")])
    world.finish_tool(world.begin(), "36")
    world.reply("I had to stop.")
    world.reply(GOOD)
    world.record()
    assert ends(world) == [("max_iterations", GOOD)]


def test_one_that_was_cut_off_is_judged_as_a_whole() -> None:
    world = asked()
    world.reply('{"age":', finish_reason="length")
    world.reply(" 36}")
    world.record()
    assert ends(world) == [("completed", '{"age": 36}')]


def test_a_correction_begins_from_nothing() -> None:
    world = asked()
    world.reply("She is", finish_reason="length")
    world.reply(" 36.")
    world.reply(GOOD)
    world.record()
    assert ends(world) == [("completed", GOOD)]


def test_a_failed_turn_is_continued_with_its_schema_and_another_correction() -> None:
    world = asked()
    world.reply(PROSE)
    world.reply(PROSE)
    world.do(c.ResumeTurn(e.TurnResumed(turn="t1"), only_stopped=True))
    world.prefetch()
    last = world.session.messages[-1]
    assert isinstance(last, UserMessage)
    assert SCHEMA in last.content
    world.reply(PROSE)
    world.reply(GOOD)
    world.record()
    assert ends(world)[-1] == ("completed", GOOD)


@pytest.mark.parametrize(("policy", "schema", "joins"), [("steer", "", True), ("steer", SCHEMA, False)])
def test_a_text_with_a_schema_gets_an_answer_of_its_own(
    policy: e.BusyPolicy, schema: str, joins: bool
) -> None:
    world = asked("")
    world.begin()
    world.do(
        c.SubmitTurn(
            e.TurnSubmitted(
                turn="t2", session="s1", text="And?", source="cli", if_busy=policy, answer_schema=schema
            )
        )
    )
    world.finish_call(world.due[0], "", [("look", "read")])
    world.finish_tool(world.begin())
    world.begin()
    assert ([turn.id for turn in world.session.waiting] == []) is joins


def test_each_request_begins_with_the_one_before_it() -> None:
    world = asked()
    world.reply(PROSE)
    world.reply(BAD)
    world.do(c.ResumeTurn(e.TurnResumed(turn="t1")))
    world.prefetch()
    world.reply(GOOD)
    for before, after in zip(world.requests, world.requests[1:], strict=False):
        assert after[: len(before)] == before
    assert all(complaints(request) == [] for request in world.requests)


def test_the_verdict_is_a_fact_that_a_fold_does_not_question() -> None:
    world = asked()
    world.reply(GOOD)
    facts = [*world.facts, e.AnswerRejected(turn="t1", step="t1-1", faults=("$: too young",))]
    session = fold(Session(stream="session-s1"), facts)
    assert session.current is not None
    assert session.current.answer is None
