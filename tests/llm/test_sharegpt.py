"""Turns as training data: what was said, in the field's form, and nothing that was only beside it."""

from __future__ import annotations

import json

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.synthetic_messages import INTERRUPTED
from hermes_jobs.llm.training_data import TrainingTurn, share_gpt, training_turns

AT = "2026-11-21T12:00:00.000000Z"


def submitted(turn: str, text: str) -> e.TurnSubmitted:
    return e.TurnSubmitted(turn=turn, text=text, source="cli", session="s1")


def begun(turn: str, recalled: str = "") -> e.ContextPrefetched:
    return e.ContextPrefetched(turn=turn, model="m", max_iterations=9, recalled=recalled)


def replied(
    turn: str, content: str, *calls: str, reasoning: str = "", purpose: str = "turn"
) -> e.ModelReplied:
    ids = [f"{turn}-1-{at}" for at in range(len(calls))]
    return e.ModelReplied(
        turn=turn,
        step=f"{turn}-1",
        content=content,
        model="m",
        finish_reason="stop",
        tool_calls=tuple(ToolCall(f"p{at}", "read_file", each) for at, each in enumerate(calls)),
        plan=tuple(e.PlannedCall(call=call, effect="read") for call in ids),
        reasoning=reasoning,
        purpose=purpose,
    )


def told(*events: e.Event) -> list[TrainingTurn]:
    return training_turns([(event, AT) for event in events], INTERRUPTED)


def pairs(turn: TrainingTurn) -> list[tuple[str, str]]:
    return [(said.speaker, said.value) for said in share_gpt(turn)]


def inside(value: str, tag: str) -> list[object]:
    """The JSON between those tags."""
    return [json.loads(part.split(f"</{tag}>")[0]) for part in value.split(f"<{tag}>")[1:]]


def test_a_turn_has_its_reasoning_calls_and_results() -> None:
    (turn,) = told(
        submitted("t1", "Read both."),
        begun("t1", recalled="<recall>secret memory</recall>"),
        replied("t1", "I look.", '{"path": "a"}', "no json", reasoning="Two files."),
        e.ToolFinished(turn="t1", call="t1-1-1", ok=True, content="B"),
        e.ToolInterrupted(turn="t1", call="t1-1-0", reason="worker_lost"),
        replied("t1", "Done."),
        e.TurnCompleted(turn="t1", answer="Done."),
    )
    assert turn.completed
    human, asked, results, answer = pairs(turn)
    assert human == ("human", "Read both.")
    assert asked[0] == "gpt"
    assert asked[1].startswith("<think>\nTwo files.\n</think>\nI look.\n<tool_call>\n")
    assert inside(asked[1], "tool_call") == [
        {"name": "read_file", "arguments": {"path": "a"}},
        {"name": "read_file", "arguments": "no json"},
    ]
    assert results[0] == "tool"
    assert inside(results[1], "tool_response") == [
        {"name": "read_file", "content": "B"},
        {"name": "read_file", "content": INTERRUPTED["worker_lost"]},
    ]
    assert answer == ("gpt", "Done.")


def test_turns_come_in_the_order_in_which_they_began_and_only_some_completed() -> None:
    turns = told(
        submitted("t1", "one"),
        submitted("t2", "two"),
        begun("t2"),
        e.TurnFailed(turn="t2", kind="server", message="broken"),
        begun("t1"),
        replied("t1", "1"),
        e.TurnCompleted(turn="t1", answer="1"),
        submitted("t3", "three"),
    )
    assert [(turn.turn, turn.completed) for turn in turns] == [("t2", False), ("t1", True)]


def test_a_merged_text_is_in_its_place() -> None:
    (before,) = told(
        submitted("t1", "one"), submitted("t2", "two"), e.TurnMerged(turn="t2", into="t1"), begun("t1")
    )
    assert pairs(before) == [("human", "one\ntwo")]
    (steered,) = told(
        submitted("t1", "one"),
        begun("t1"),
        replied("t1", "working"),
        submitted("t2", "faster"),
        e.TurnMerged(turn="t2", into="t1"),
        replied("t1", "done"),
    )
    assert pairs(steered) == [("human", "one"), ("gpt", "working"), ("human", "faster"), ("gpt", "done")]


def test_summaries_and_reviews_are_left_out() -> None:
    (turn,) = told(
        submitted("t1", "one"),
        begun("t1"),
        replied("t1", "a summary", purpose="compression"),
        replied("t1", "done"),
    )
    assert pairs(turn) == [("human", "one"), ("gpt", "done")]
