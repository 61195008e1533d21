"""Whole conversations in small windows: how often they are summarised, and that requests fit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_jobs.features.compression.compressor import FRAME, summary_budget
from hermes_jobs.features.compression.message_groups import message_groups, newest_request, tokens_of
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import ModelRequest
from tests.context.conversation import Conversation
from tests.examples import examples

PLAIN = st.tuples(st.floats(0.001, 0.2), st.just(()), st.floats(0.001, 0.1))
WORKING = st.tuples(
    st.floats(0.001, 0.05), st.lists(st.floats(0.001, 0.15), max_size=6), st.floats(0.001, 0.05)
)
TURNS = st.lists(PLAIN | WORKING, min_size=1, max_size=40)
"""What is asked, the results of tools, and what is answered, as parts of the window."""


def compressions(conversation: Conversation) -> list[e.ContextCompressed]:
    return [fact for fact in conversation.world.facts if isinstance(fact, e.ContextCompressed)]


@pytest.mark.parametrize("reports", [True, False], ids=["usage", "no usage"])
@pytest.mark.parametrize(
    ("window", "fixed", "turns", "size", "most"),
    [(8_192, 4_300, 25, 60, 2), (4_096, 3_000, 25, 20, 2), (16_000, 4_300, 60, 350, 13)],
    ids=["tools in 8k", "tools in 4k", "equal messages in 16k"],
)
def test_a_conversation_is_summarised_now_and_then_and_not_at_every_turn(
    window: int, fixed: int, turns: int, size: int, most: int, reports: bool
) -> None:
    conversation = Conversation(window, fixed, reports=reports)
    for _ in range(turns):
        conversation.turn(size, (), size)
    assert 0 < conversation.model.summaries <= most
    assert not conversation.model.refused
    assert all(each.tokens_after < each.tokens_before for each in compressions(conversation))


@settings(max_examples=examples(150))
@given(
    st.sampled_from([4_096, 8_192, 12_000, 16_000, 32_768]),
    st.floats(0.02, 0.7),
    st.integers(0, 30),
    st.booleans(),
    TURNS,
)
def test_summaries_are_few_each_wins_something_and_requests_fit_where_a_summary_can_help(
    window: int,
    fixed_share: float,
    protect_last: int,
    reports: bool,
    turns: list[tuple[float, list[float] | tuple[()], float]],
) -> None:
    conversation = Conversation(window, int(window * fixed_share), protect_last=protect_last, reports=reports)
    for asked, results, answered in turns:
        sizes = [max(1, int(window * each)) for each in results]
        conversation.turn(int(window * asked), sizes, max(1, int(window * answered)))
    said = sum(asked + sum(results) + answered for asked, results, answered in turns)
    assert conversation.model.summaries <= 3 + said / 0.05
    for each in compressions(conversation):
        assert each.tokens_after < each.tokens_before
    # Soon after a summary a request that just fits by our estimate is sent, and may be refused.
    for request in conversation.model.refused:
        assert least(request, window) > window * 0.75, "a summary would have made room"


def least(request: ModelRequest, window: int) -> int:
    """What the request takes with everything summarised that can be."""
    units = message_groups(request.messages)
    at = newest_request(units)
    kept = {*([at] if at is not None else []), len(units) - 1}
    fixed = sum(spec.num_characters for spec in request.tools) + len(request.system_prompt)
    summary = summary_budget(tokens_of(request.messages), window) + FRAME
    return fixed // 4 + summary + sum(tokens_of(units[each]) for each in kept)


def test_where_two_compressions_won_nothing_it_is_tried_again_when_the_request_has_grown() -> None:
    conversation = Conversation(16_000, 13_000)
    for _ in range(12):
        conversation.turn(60, (), 60)
    before = conversation.session.ineffective_compressions
    for _ in range(20):
        conversation.turn(60, (), 60)
    assert before <= conversation.session.ineffective_compressions
    assert not conversation.model.refused


def test_a_notice_names_the_toolsets_that_fill_the_window() -> None:
    conversation = Conversation(4_096, 3_600)
    conversation.turn(20)
    (pressure,) = [fact for fact in conversation.world.facts if isinstance(fact, e.ContextPressure)]
    assert "take about 3,6" in pressure.advice
    assert "of the model's 4,096 tokens" in pressure.advice
    assert "larger window" in pressure.advice
