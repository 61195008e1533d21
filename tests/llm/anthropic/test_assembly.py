from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel.engine.ports import Reply
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.llm.anthropic.assembly import MessageAssembler

STARTED = {
    "type": "message_start",
    "message": {
        "model": "claude-sonnet-4-5-20250929",
        "usage": {
            "input_tokens": 10,
            "cache_read_input_tokens": 200,
            "cache_creation_input_tokens": 30,
            "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 10},
            "output_tokens": 1,
        },
    },
}


def opened(block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": 0, "content_block": block}


def piece(kind: str, **more: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **more}}


def ended(reason: str, **usage: Any) -> dict[str, Any]:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason},
        "usage": {"output_tokens": 50, **usage},
    }


def assembled(*events: dict[str, Any]) -> tuple[Reply, str]:
    message = MessageAssembler()
    shown = "".join(message.feed(event) for event in events)
    reply, rest = message.finish("claude-sonnet-4-5", "api.anthropic.com")
    return reply, shown + rest


def test_an_answer_with_thoughts_text_and_calls() -> None:
    reply, shown = assembled(
        STARTED,
        {"type": "ping"},
        opened({"type": "thinking", "thinking": "", "signature": ""}),
        piece("thinking_delta", thinking="Let me "),
        piece("thinking_delta", thinking="see."),
        piece("signature_delta", signature="abc=="),
        {"type": "content_block_stop", "index": 0},
        opened({"type": "redacted_thinking", "data": "x+/="}),
        opened({"type": "text", "text": ""}),
        piece("text_delta", text="I "),
        piece("text_delta", text="look."),
        opened({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}),
        piece("input_json_delta", partial_json=""),
        piece("input_json_delta", partial_json='{"path": '),
        piece("input_json_delta", partial_json='"a"}'),
        opened({"type": "tool_use", "id": "toolu_2", "name": "wait", "input": {}}),
        ended("tool_use", output_tokens_details={"thinking_tokens": 7}),
        {"type": "message_stop"},
    )
    assert shown == "I look."
    assert (reply.content, reply.reasoning, reply.finish_reason) == ("I look.", "Let me see.", "tool_calls")
    assert reply.tool_calls == (
        ToolCall("toolu_1", "look", '{"path": "a"}'),
        ToolCall("toolu_2", "wait", ""),
    )
    assert reply.model == "claude-sonnet-4-5-20250929"
    assert reply.usage == Usage(10, 50, 200, 30, 7, 10)
    assert reply.payload is not None
    assert (reply.payload.dialect, reply.payload.model) == ("anthropic", "claude-sonnet-4-5")
    assert json.loads(reply.payload.data)["content"] == [
        {"type": "thinking", "thinking": "Let me see.", "signature": "abc=="},
        {"type": "redacted_thinking", "data": "x+/="},
        {"type": "text", "chars": 7},
        {"type": "tool_use", "id": "toolu_1"},
        {"type": "tool_use", "id": "toolu_2"},
    ]


def test_an_answer_without_thoughts_has_no_payload() -> None:
    reply, _ = assembled(STARTED, opened({"type": "text", "text": "Hi"}), ended("end_turn"))
    assert (reply.content, reply.payload) == ("Hi", None)


@pytest.mark.parametrize(
    ("stopped", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("tool_use", "tool_calls"),
        ("something_new", "something_new"),
    ],
)
def test_stop_reasons_are_said_in_our_words(stopped: str, reason: str) -> None:
    reply, _ = assembled(STARTED, opened({"type": "text", "text": "Hi"}), ended(stopped))
    assert reply.finish_reason == reason


def test_a_whole_message_is_read_like_a_stream() -> None:
    reply, shown = assembled(
        {
            "type": "message",
            "model": "claude-opus-5-5",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "text", "text": "Hi"},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"path": "a"}},
            ],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 3, "output_tokens": 2},
        }
    )
    assert (reply.content, shown, reply.reasoning) == ("Hi", "Hi", "Hm.")
    assert reply.tool_calls == (ToolCall("t1", "look", '{"path": "a"}'),)
    assert (reply.finish_reason, reply.usage) == ("tool_calls", Usage(3, 2))


def test_a_paused_turn_continues_in_the_same_reply() -> None:
    message = MessageAssembler()
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    for event in (
        STARTED,
        opened({"type": "text", "text": "I search. "}),
        opened(search),
        piece("input_json_delta", partial_json='{"query": "x"}'),
        ended("pause_turn"),
    ):
        message.feed(event)
    assert message.stop_reason == "pause_turn"
    assert message.paused() == [
        {"type": "text", "text": "I search. "},
        {**search, "input": {"query": "x"}},
    ]
    assert message.stop_reason == ""
    for event in (STARTED, opened({"type": "text", "text": "Found."}), ended("end_turn")):
        message.feed(event)
    reply, _ = message.finish("m", "e")
    assert reply.content == "I search. Found."
    assert reply.usage == Usage(20, 100, 400, 60, 0, 20)
    assert reply.payload is not None


@given(st.text(), st.integers(1, 3), st.text())
def test_text_is_the_same_however_it_is_cut(said: str, size: int, thought: str) -> None:
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    surrogates = [half for each in pieces for half in halves(each)]
    reply, shown = assembled(
        STARTED,
        opened({"type": "thinking", "thinking": "", "signature": ""}),
        piece("thinking_delta", thinking=thought),
        opened({"type": "text", "text": ""}),
        *(piece("text_delta", text=each) for each in surrogates),
        ended("end_turn"),
    )
    assert reply.content == shown == said
    assert reply.payload is not None


def halves(text: str) -> list[str]:
    """The UTF-16 units of a text, as JSON can carry them one by one."""
    units = text.encode("utf-16-le", "surrogatepass")
    return [units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(units), 2)]


noise: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KINDS = ["message_start", "content_block_start", "content_block_delta", "message_delta", "message", "new"]
events = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional={
        "message": noise,
        "content_block": noise
        | st.fixed_dictionaries({"type": st.sampled_from(["text", "tool_use", "thinking"])}),
        "delta": noise | st.fixed_dictionaries({"type": st.sampled_from(["text_delta", "input_json_delta"])}),
        "usage": noise,
        "content": noise,
    },
)


@given(st.lists(events, max_size=8))
def test_nothing_that_arrives_makes_it_fail(arrived: list[dict[str, Any]]) -> None:
    reply, _ = assembled(*arrived)
    assert isinstance(reply, Reply)
