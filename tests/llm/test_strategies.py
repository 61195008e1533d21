"""One history, asked for in both strategies over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ModelError, Reply
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.llm.client import OpenAIModel
from hermes_jobs.llm.dialect import ApiOptions
from tests.llm.asking import ask, request
from tests.model_script import Answer, AskedCall, Refuse
from tests.model_server import ModelServer

TOOLS = ("terminal", "read_file")
LS = '<tool_call>\n{"name": "terminal", "arguments": {"command": "ls"}}\n</tool_call>'

SPOKEN_OF = f"Such a model writes {LS}, and the server reads it."


@pytest.fixture
def model(model_server: ModelServer) -> Iterator[OpenAIModel]:
    made = OpenAIModel(api_key=None, base_url=model_server.base_url)
    yield made
    made.close()


def said_in_pieces(model: OpenAIModel, name: str, *history: str | Message) -> tuple[Reply, list[str]]:
    pieces: list[str] = []
    asked = replace(request(*history, tools=TOOLS), model=name)
    return ask(model, asked, on_text=pieces.append), pieces


def after(history: list[Message], reply: Reply) -> list[Message]:
    """The history with the reply and a result for each of its calls."""
    results = [ToolMessage(call.id, call.name, f"result of {call.id}") for call in reply.tool_calls]
    return [*history, AssistantMessage(reply.content, reply.tool_calls), *results]


def test_calls_in_the_text_become_calls_and_are_not_shown(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    written = f'<think>Hm.</think>I look.\n{LS}\ncall:read_file{{path: "a.txt"}}\nDone.'
    model_server.follow([Answer(text=written, piece=3)])
    reply, pieces = said_in_pieces(model, "gemma-3", "Look")
    assert reply.content == "".join(pieces) == "I look.\nDone."
    assert reply.tool_calls == (
        ToolCall("call00000", "terminal", '{"command": "ls"}'),
        ToolCall("call00001", "read_file", '{"path": "a.txt"}'),
    )
    assert (reply.finish_reason, reply.reasoning) == ("tool_calls", "Hm.")
    body = model_server.requests[0].body
    assert "tools" not in body
    assert '"name": "read_file"' in body["messages"][0]["content"]


def test_a_session_goes_from_structured_to_text_and_back(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    model_server.follow(
        [
            Answer(text="One.", tool_calls=(AskedCall("terminal", {"command": "date"}, id="call_a"),)),
            Answer(text=f"Two.\n{LS}{LS}"),
            Answer(text=LS, tool_calls=(AskedCall("terminal", {"command": "id"}, id="call_b"),)),
            Answer(text=SPOKEN_OF),
            Answer(text="Five."),
        ]
    )
    history: list[Message] = [UserMessage("Look")]
    for name in ("gpt-5", "llama-3", "llama-3", "gpt-5", "gpt-5"):
        reply, _ = said_in_pieces(model, name, *history)
        history = after(history, reply)
    first, *texts, fourth, last = [seen.body for seen in model_server.requests]
    for one, other in pairwise([first, fourth, last]):
        assert other["messages"][: len(one["messages"])] == one["messages"]
    for one, other in pairwise(texts):
        assert other["messages"][: len(one["messages"])] == one["messages"]
    assert [each["role"] for each in texts[-1]["messages"]] == [
        "system",
        *(["user", "assistant"] * 2),
        "user",
    ]
    assert texts[-1]["messages"][-1]["content"] == (
        "[Tool Result: terminal]\nresult of call00001\n\n[Tool Result: terminal]\nresult of call00002"
    )
    calls = [call["id"] for each in last["messages"] for call in each.get("tool_calls", [])]
    answers = [each["tool_call_id"] for each in last["messages"] if each["role"] == "tool"]
    assert calls == answers
    assert len(set(calls)) == len(calls) == 5
    assert last["messages"][-1] == {"role": "assistant", "content": SPOKEN_OF}


def test_a_structured_answer_that_speaks_of_markup_stays_as_it_is(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    model_server.follow([Answer(text=SPOKEN_OF)])
    reply, pieces = said_in_pieces(model, "gpt-5", "Look")
    assert (reply.content, "".join(pieces), reply.tool_calls) == (SPOKEN_OF, SPOKEN_OF, ())


def test_a_structured_answer_that_ends_with_a_written_call_makes_it(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    model_server.follow([Answer(text=f"I look.\n{LS}\n", piece=3)])
    reply, pieces = said_in_pieces(model, "gpt-5", "Look")
    assert reply.content == "".join(pieces).rstrip() == "I look."
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("terminal", '{"command": "ls"}')]
    assert reply.finish_reason == "tool_calls"


def test_without_tools_markup_is_text_unless_the_history_has_calls(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    model_server.follow([Answer(text=LS), Answer(text=LS)])
    named = replace(request("Explain."), model="gemma")
    assert ask(model, named).content == LS
    call = ToolCall("call00007", "terminal", "{}")
    closing = request("Look", AssistantMessage("", (call,)), ToolMessage(call.id, call.name, "x"))
    reply = ask(model, replace(closing, model="gemma"))
    assert (reply.content, len(reply.tool_calls)) == ("", 1)


def test_a_call_that_was_cut_off_is_a_call_that_says_so(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    model_server.follow([Answer(text=LS[:-30], finish_reason="length")])
    reply, _ = said_in_pieces(model, "gemma", "Look")
    assert (reply.content, reply.finish_reason, len(reply.tool_calls)) == ("", "length", 1)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "registry.ollama.ai/library/x:2b does not support tools"),
        (404, 'No endpoints found that support tool use. Try disabling "terminal".'),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (500, "tools param requires --jinja flag"),
    ],
)
def test_an_endpoint_without_tools_is_asked_in_text_from_then_on(
    model: OpenAIModel, model_server: ModelServer, status: int, message: str
) -> None:
    model_server.follow(
        [Refuse(status=status, message=message), Answer(text=LS), Answer(text="Done.")],
    )
    reply, _ = said_in_pieces(model, "x", "Look")
    assert [call.name for call in reply.tool_calls] == ["terminal"]
    said_in_pieces(model, "x", *after([UserMessage("Look")], reply))
    assert ["tools" in seen.body for seen in model_server.requests] == [True, False, False]


def test_required_settings_are_not_given_up(model_server: ModelServer) -> None:
    model_server.follow(lambda seen: Refuse(status=400, message="x does not support tools"))
    model = OpenAIModel(
        api_key=None, base_url=model_server.base_url, manner=ApiOptions(tool_calling="structured")
    )
    with pytest.raises(ModelError) as raised:
        said_in_pieces(model, "gemma", "Look")
    model.close()
    assert "model.tool_calling" in raised.value.hint
    assert [("tools" in seen.body) for seen in model_server.requests] == [True]


def test_a_template_without_a_system_role_gets_the_prompt_in_the_first_message(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    model_server.follow([Refuse(status=500, message="Jinja Exception: System role not supported")])
    assert said_in_pieces(model, "gemma-2", "Look")[0].content.endswith("Look")
    roles = [[each["role"] for each in seen.messages] for seen in model_server.requests]
    assert roles == [["system", "user"], ["user"]]
