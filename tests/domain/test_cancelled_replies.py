"""A reply that arrives after its turn was cancelled: its calls end as cancelled ones, also in older logs."""

from __future__ import annotations

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import next_steps


def being_cancelled() -> Session:
    """A turn whose model is being asked, and which a person wants no more."""
    facts = (
        e.TurnSubmitted(turn="t1", text="hello", source="cli", session="s1", opening=e.Opening()),
        e.SessionStarted(session="s1", kind="conversation", source="cli", model="m", system_prompt=""),
        e.ContextPrefetched(turn="t1", model="m", max_iterations=5, skill_nudge=1),
        e.ModelCallStarted(turn="t1", step="t1-1", attempt=1),
        e.TurnCancelRequested(turn="t1", by="user"),
    )
    return fold(Session(stream="session-s1"), facts)


def replied(content: str = "", finish_reason: str = "tool_calls") -> e.ModelReplied:
    return e.ModelReplied(
        turn="t1",
        step="t1-1",
        content=content,
        model="m",
        finish_reason=finish_reason,
        tool_calls=(ToolCall("a", "terminal", "{}"), ToolCall("b", "read_file", "{}")),
        plan=(e.PlannedCall(call="t1-1-0", effect="write"), e.PlannedCall(call="t1-1-1", effect="read")),
    )


def test_each_of_its_calls_ends_as_cancelled_in_the_append_that_ends_the_turn() -> None:
    before = being_cancelled()
    facts = decide(c.FinishModelCall(step="t1-1", outcome=replied("Well.")), before)
    assert [type(fact).__name__ for fact in facts] == [
        "ModelReplied",
        "ToolInterrupted",
        "ToolInterrupted",
        "UsageRecorded",
        "TurnCancelled",
    ]
    after = fold(before, facts)
    assert next_steps(after) == ()
    assert [type(message) for message in after.messages] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        ToolMessage,
    ]
    assert after.review_counters == before.review_counters, "nobody has used a tool"


@pytest.mark.parametrize(("content", "said"), [("", []), ("Well.", [AssistantMessage("Well.")])])
def test_an_older_log_without_those_results_holds_the_words_alone(
    content: str, said: list[AssistantMessage]
) -> None:
    older = (
        replied(content),
        e.UsageRecorded(turn="t1", model="m"),
        e.TurnCancelled(turn="t1", by="user"),
    )
    after = fold(being_cancelled(), older)
    assert list(after.messages[1:]) == said
    assert after.current is None
    resumed = fold(after, (e.TurnResumed(turn="t1"),))
    assert [step.kind for step in next_steps(resumed)] != ["turn.run_tool"]


def test_calls_that_were_cut_off_are_none() -> None:
    before = being_cancelled()
    facts = decide(c.FinishModelCall(step="t1-1", outcome=replied(finish_reason="length")), before)
    assert not [fact for fact in facts if isinstance(fact, e.ToolInterrupted)]
