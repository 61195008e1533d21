from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.llm.dialect import Dialect
from hermes_jobs.llm.render import chat_messages, request_body
from hermes_jobs.llm.responses import responses_body
from tests.llm.asking import request

text = st.text(max_size=20)
calls = st.lists(st.builds(ToolCall, text, text, text | st.just('{"a": 1}')), max_size=3).map(tuple)
message = (
    st.builds(UserMessage, text)
    | st.builds(AssistantMessage, text, calls)
    | st.builds(ToolMessage, text, text, text)
)


@given(text, st.lists(message, max_size=8), st.lists(message, max_size=4))
def test_a_longer_history_begins_with_the_shorter(
    system: str, history: list[Message], more: list[Message]
) -> None:
    shorter = [json.dumps(each) for each in chat_messages(system, history)]
    longer = [json.dumps(each) for each in chat_messages(system, [*history, *more])]
    assert longer[: len(shorter)] == shorter
    assert len(longer) == len(shorter) + len(more)


@given(st.lists(message, max_size=5))
def test_rendering_is_valid_and_deterministic(history: list[Message]) -> None:
    body = request_body(request(*history), Dialect())
    assert json.dumps(body) == json.dumps(request_body(request(*history), Dialect()))
    assert msgspec.json.decode(msgspec.json.encode(body)) == body


@given(text, text)
def test_calls_of_the_history_are_such_as_every_endpoint_takes_back(name: str, arguments: str) -> None:
    rendered = chat_messages("", [AssistantMessage("", (ToolCall("a", name, arguments),))])
    function = rendered[0]["tool_calls"][0]["function"]
    assert isinstance(json.loads(function["arguments"]), dict)
    assert 1 <= len(function["name"]) <= 64
    assert function["name"].replace("_", "").replace("-", "").isalnum() or set(function["name"]) <= {"_", "-"}
    assert function["name"].isascii()


def test_each_role_is_written_as_chat_completions_wants_it() -> None:
    call = ToolCall("call_1", "terminal", '{"command":  "ls"}')
    history: list[Message] = [
        UserMessage("Look."),
        AssistantMessage("", (call,)),
        ToolMessage("call_1", "terminal", "a.txt"),
        AssistantMessage("Done."),
    ]
    function = {"name": "terminal", "arguments": '{"command":  "ls"}'}
    assert chat_messages("Be kind.", history) == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "a.txt"},
        {"role": "assistant", "content": "Done."},
    ]


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ('{"a":1}', '{"a":1}'),
        ("", "{}"),
        ("  ", "{}"),
        ("{not json", '{"unreadable_arguments": "{not json"}'),
        ("[1]", '{"unreadable_arguments": "[1]"}'),
        ('{"a": NaN}', '{"unreadable_arguments": "{\\"a\\": NaN}"}'),
    ],
)
def test_arguments_that_are_no_object_are_wrapped_in_one(written: str, sent: str) -> None:
    rendered = chat_messages("", [AssistantMessage("", (ToolCall("a", "ls", written),))])
    assert rendered[0]["tool_calls"][0]["function"]["arguments"] == sent


def test_the_request_has_only_fields_of_the_dialect() -> None:
    asked = request("Hello", tools=("terminal",), max_tokens=100)
    full = request_body(asked, Dialect())
    assert list(full) == ["model", "messages", "tools", "max_tokens", "stream", "stream_options"]
    bare = request_body(asked, Dialect(streams=False, limit_field="max_completion_tokens"))
    assert (bare["stream"], bare["max_completion_tokens"]) == (False, 100)
    assert "stream_options" not in bare
    assert "tools" not in request_body(request("Hello"), Dialect())


def test_a_temperature_is_sent_where_it_is_taken() -> None:
    asked = replace(request("Hello"), temperature=0.1)
    for body in (request_body, responses_body):
        assert body(asked, Dialect())["temperature"] == 0.1
        assert "temperature" not in body(asked, Dialect(takes_temperature=False))
        assert "temperature" not in body(request("Hello"), Dialect())
