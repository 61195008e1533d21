"""Servers that refuse in other words, or send their answers under another name."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from hermes_jobs.kernel.engine.ports import ModelError
from hermes_jobs.llm.adaptation import NO_TOOLS
from hermes_jobs.llm.client import OpenAIModel
from hermes_jobs.llm.errors import classify, parse_refusal
from hermes_jobs.llm.sse import EventDecoder
from tests.llm.asking import ask, request
from tests.model_script import Answer, AskedCall, Raw, Refuse
from tests.model_server import ModelServer

CHUNK = '{"choices":[{"index":0,"delta":{"content":"done"},"finish_reason":null}]}'
END = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
EVENTS = f"data: {CHUNK}\n\ndata: {END}\n\ndata: [DONE]\n\n"
WHOLE = json.dumps({"choices": [{"message": {"content": "done"}, "finish_reason": "stop"}]})
# https://console.groq.com/docs/tool-use: the model's text is in `failed_generation`.
FAILED_CALL = Refuse(
    status=400,
    body={
        "error": {
            "message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for "
            "more details.",
            "type": "invalid_request_error",
            "code": "tool_use_failed",
            "failed_generation": 'terminal{"command": "echo timeout"}</function>',
        }
    },
)


@pytest.fixture
def model(model_server: ModelServer) -> Iterator[OpenAIModel]:
    made = OpenAIModel(api_key="sk-test", base_url=model_server.base_url)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, "Unsupported param: tools"),
        (400, "tool calling is not supported"),
        (400, "Tools are not supported for this model"),
        (400, "Function calling is not enabled"),
        (422, "Unrecognized request argument supplied: tools"),
        (200, "This model does not support function calling"),
    ],
)
def test_a_model_whose_server_refuses_tools_gets_them_as_text(
    model: OpenAIModel, model_server: ModelServer, status: int, message: str
) -> None:
    call = '<tool_call>\n{"name": "terminal", "arguments": {}}\n</tool_call>'
    refusal = (
        Raw(body=json.dumps({"error": {"message": message}}), content_type="application/json")
        if status == 200
        else Refuse(status=status, message=message)
    )
    model_server.follow([refusal, Answer(text=call)])
    reply = ask(model, request("Hello", tools=("terminal",)))
    assert [each.name for each in reply.tool_calls] == ["terminal"]
    assert ["tools" in seen.body for seen in model_server.requests] == [True, False]


@pytest.mark.parametrize(
    "message",
    ["unsupported parameter: 'tools[0].function.strict'", "tool type web_search is not supported"],
)
def test_a_refusal_of_one_tool_is_not_one_of_all(message: str) -> None:
    assert NO_TOOLS.search(message) is None


def test_a_call_that_the_endpoint_refuses_is_asked_for_again_with_the_refusal(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    model_server.follow([FAILED_CALL, Answer(tool_calls=(AskedCall("terminal", {"command": "date"}),))])
    reply = ask(model, request("Hello", tools=("terminal",)))
    assert [call.name for call in reply.tool_calls] == ["terminal"]
    first, second = (seen.messages for seen in model_server.requests)
    assert second[: len(first)] == first
    assert "Failed to call a function" in second[-1]["content"]
    assert "echo timeout" in second[-1]["content"]
    assert "Failed to call a function" in reply.notes[0]


def test_a_model_that_writes_refused_calls_again_and_again_fails_so_that_it_is_tried_later(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    model_server.follow([FAILED_CALL, FAILED_CALL])
    with pytest.raises(ModelError) as caught:
        ask(model, request("Hello", tools=("terminal",)))
    assert (caught.value.kind, caught.value.retryable) == ("garbage", True)
    assert len(model_server.requests) == 2


@pytest.mark.parametrize(
    "message",
    [
        "Invalid value for parameter `timeout`: must be an integer",
        "tools.3.function: '/timeout' expected integer, but got string",
        "parameter timeout is not an integer",
        "Invalid schema: field billing must be a string",
    ],
)
def test_the_names_of_parameters_do_not_say_what_went_wrong(message: str) -> None:
    refusal = parse_refusal({"error": {"message": message}}, status=400)
    assert refusal is not None
    assert classify(refusal).kind == "bad_request"


def test_a_call_whose_parameter_is_named_timeout_is_no_timeout() -> None:
    message = (
        "tool call validation failed: parameters for tool terminal did not match schema: `/timeout`: integer"
    )
    refusal = parse_refusal({"error": {"message": message, "code": "tool_use_failed"}}, status=400)
    assert refusal is not None
    assert classify(refusal).kind == "garbage"


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/plain", "text/html", ""])
@pytest.mark.parametrize(
    "body",
    [
        EVENTS,
        f"\ufeff{EVENTS}",
        EVENTS.replace("\n", "\r"),
        EVENTS.replace("\n", "\r\n"),
        f": keep-alive\n\n{EVENTS}",
        f"event: message\nid: 1\n{EVENTS}",
        EVENTS.replace("data: [DONE]\n\n", ""),
        WHOLE,
        f"\ufeff{WHOLE}",
        f"\n\n{WHOLE}\n",
    ],
)
def test_an_answer_is_read_by_its_body(
    model: OpenAIModel, model_server: ModelServer, kind: str, body: str
) -> None:
    model_server.follow([Raw(body=body, content_type=kind)])
    assert ask(model).content == "done"


def test_an_error_in_the_middle_of_mislabelled_events_is_told(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    error = '{"error":{"message":"The server is overloaded","code":503}}'
    body = f"data: {CHUNK}\n\ndata: {error}\n\n"
    model_server.follow([Raw(body=body, content_type="application/json")])
    with pytest.raises(ModelError) as caught:
        ask(model)
    assert caught.value.kind == "overloaded"


def test_a_byte_order_mark_is_skipped_in_pieces_of_any_size() -> None:
    whole = f"\ufeff{EVENTS}".encode()
    for size in (1, 2, 3, len(whole)):
        decoder = EventDecoder()
        read = [data for at in range(0, len(whole), size) for data in decoder.feed(whole[at : at + size])]
        assert [*read, *decoder.finish()] == [CHUNK, END, "[DONE]"]
