"""`OpenAIModel` asking the Responses API of the scripted server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ModelError
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from hermes_jobs.llm.client import OpenAIModel
from hermes_jobs.llm.dialect import ApiOptions
from tests.llm.asking import ask, request
from tests.model_script import Answer, AskedCall, Drop, Raw, Refuse
from tests.model_server import ModelServer


@pytest.fixture
def model(model_server: ModelServer) -> Iterator[OpenAIModel]:
    made = OpenAIModel(api_key=None, base_url=model_server.base_url, manner=ApiOptions(api="responses"))
    yield made
    made.close()


def failure(model: OpenAIModel) -> ModelError:
    with pytest.raises(ModelError) as raised:
        ask(model)
    return raised.value


def events(*each: object) -> Raw:
    return Raw(body="".join(f"data: {json.dumps(one)}\n\n" for one in each))


def test_a_streamed_response_arrives_whole(model: OpenAIModel, model_server: ModelServer) -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 4,
        "input_tokens_details": {"cached_tokens": 6},
        "output_tokens_details": {"reasoning_tokens": 3},
    }
    asked = (AskedCall("terminal", {"command": "ls"}, id="a"), AskedCall("read_file", "{broken", id="b"))
    model_server.follow(
        [
            Answer(
                text="One <think>two</think> three.", reasoning="Hm.", tool_calls=asked, usage=usage, piece=3
            )
        ]
    )
    pieces: list[str] = []
    reply = ask(model, request("Look", tools=("terminal",)), on_text=pieces.append)
    assert reply.content == "".join(pieces) == "One  three."
    assert reply.reasoning == "Hm.\ntwo"
    assert reply.tool_calls == (
        ToolCall("a", "terminal", '{"command": "ls"}'),
        ToolCall("b", "read_file", "{broken"),
    )
    assert (reply.finish_reason, reply.model) == ("tool_calls", "some-model")
    assert reply.usage == Usage(4, 4, 6, 0, 3)


def said(role: str, content: object) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def test_the_history_is_sent_as_items(model: OpenAIModel, model_server: ModelServer) -> None:
    call = ToolCall("a", "terminal", '{"command": "ls"}')
    history = (
        UserMessage("Look."),
        AssistantMessage("I look.", (call, ToolCall("b", "date", "{broken"))),
        ToolMessage("a", "terminal", "a.txt"),
        ToolMessage("b", "date", "Error"),
        AssistantMessage("Done."),
    )
    ask(model, request(*history, tools=("terminal",), max_tokens=100))
    body = model_server.requests[0].body
    assert body["input"] == [
        said("user", [{"type": "input_text", "text": "Look."}]),
        said("assistant", "I look."),
        {"type": "function_call", "call_id": "a", "name": "terminal", "arguments": '{"command": "ls"}'},
        {
            "type": "function_call",
            "call_id": "b",
            "name": "date",
            "arguments": '{"unreadable_arguments": "{broken"}',
        },
        {"type": "function_call_output", "call_id": "a", "output": "a.txt"},
        {"type": "function_call_output", "call_id": "b", "output": "Error"},
        said("assistant", "Done."),
    ]
    assert (body["instructions"], body["store"], body["max_output_tokens"]) == (
        "You are helpful.",
        False,
        100,
    )
    assert [(tool["type"], tool["name"]) for tool in body["tools"]] == [("function", "terminal")]


def test_a_model_that_calls_in_text_does_so_here_too(model: OpenAIModel, model_server: ModelServer) -> None:
    model_server.follow([Answer(text="Look: call:terminal{command: 'x'}call:ls{}")])
    reply = ask(model, replace(request("Look", tools=("terminal",)), model="gemma"))
    assert [call.name for call in reply.tool_calls] == ["terminal", "ls"]
    assert "tools" not in model_server.requests[0].body


def test_a_response_that_was_cut_off_says_length(model: OpenAIModel, model_server: ModelServer) -> None:
    model_server.follow([Answer(text="Half", finish_reason="max_output_tokens")])
    assert (reply := ask(model)).content == "Half"
    assert reply.finish_reason == "length"


def test_a_whole_response_is_read_where_streaming_is_refused(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    whole = Answer(text="Whole.", reasoning="Hm.", tool_calls=(AskedCall("ls", {}, id="a"),))
    model_server.follow(
        [Refuse(status=400, message="Your organization must be verified to stream this model."), whole]
    )
    pieces: list[str] = []
    reply = ask(model, on_text=pieces.append)
    assert (reply.content, "".join(pieces), reply.reasoning) == ("Whole.", "Whole.", "Hm.")
    assert reply.tool_calls == (ToolCall("a", "ls", "{}"),)
    assert [seen.body["stream"] for seen in model_server.requests] == [True, False]


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (
            events({"type": "error", "code": "rate_limit_exceeded", "message": "Try again in 2s"}),
            "rate_limit",
            "2s",
        ),
        (
            events(
                {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "Oh"}}}
            ),
            "server",
            "Oh",
        ),
        (
            events({"type": "response.created", "response": {"error": None}}),
            "garbage",
            "before it was complete",
        ),
        (events({"type": "response.output_text.delta", "delta": 5}), "garbage", "before it was complete"),
        (
            Raw(body='{"object": "response", "output": []}', content_type="application/json"),
            "garbage",
            "no output",
        ),
        (Drop(text="Half an answer"), "garbage", "broke off"),
        (Refuse(status=401, message="Incorrect API key provided"), "auth", "key"),
    ],
)
def test_invalid_responses_are_classified(
    model: OpenAIModel, model_server: ModelServer, answer: Any, kind: str, words: str
) -> None:
    model_server.follow([answer])
    error = failure(model)
    assert error.kind == kind
    assert words in error.message


def test_events_without_places_are_joined_by_their_items_names(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    """As llama.cpp sends them."""
    ls = {"type": "function_call", "call_id": "fc_1", "name": "ls", "arguments": '{"a": 1}'}
    model_server.follow(
        [
            events(
                {"type": "response.output_text.delta", "item_id": "msg_1", "delta": "Hi."},
                {
                    "type": "response.output_item.done",
                    "item": {"type": "message", "id": "msg_1", "content": []},
                },
                {"type": "response.output_item.added", "item": {**ls, "arguments": ""}},
                {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": '{"a"'},
                {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": ": 1}"},
                {"type": "response.output_item.done", "item": ls},
                {"type": "response.output_item.done", "item": {**ls, "call_id": "fc_2", "arguments": "{}"}},
                {"type": "response.completed", "response": {"model": "m"}},
            )
        ]
    )
    reply = ask(model)
    assert reply.content == "Hi."
    assert reply.tool_calls == (ToolCall("fc_1", "ls", '{"a": 1}'), ToolCall("fc_2", "ls", "{}"))


def test_items_that_come_without_pieces_are_read_when_they_are_done(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    message = {"type": "message", "content": [{"type": "output_text", "text": "Hi."}, {"refusal": " No."}, 3]}
    call = {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"}
    model_server.follow(
        [
            events(
                {"type": "response.output_item.done", "output_index": 0, "item": message},
                {"type": "response.output_item.added", "output_index": 1, "item": {**call, "arguments": ""}},
                {"type": "response.output_item.done", "output_index": 1, "item": call},
                {"type": "response.completed", "response": {"model": "m", "usage": None}},
            )
        ]
    )
    reply = ask(model)
    assert (reply.content, reply.tool_calls) == ("Hi. No.", (ToolCall("a", "ls", "{}"),))
