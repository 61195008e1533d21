from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.llm.dialect import Dialect, uses_text_tool_calls
from hermes_jobs.llm.render import request_body
from hermes_jobs.llm.text_calls import INSTRUCTIONS, text_messages
from tests.llm.asking import request

text = st.text(max_size=20)
calls = st.lists(st.builds(ToolCall, text, text, text | st.just('{"a": 1}')), max_size=3).map(tuple)
message = (
    st.builds(UserMessage, text)
    | st.builds(AssistantMessage, text, calls)
    | st.builds(ToolMessage, text, text, text)
)
TEXT = Dialect(tool_calls="text")


@given(text, st.lists(message, max_size=8), st.lists(message, max_size=4))
def test_the_prompt_only_grows_and_the_roles_take_turns(
    system: str, history: list[Message], more: list[Message]
) -> None:
    shorter, longer = text_messages(system, history), text_messages(system, [*history, *more])
    assert longer[: len(shorter)][:-1] == shorter[:-1]
    if shorter:
        grown = longer[len(shorter) - 1]
        assert grown["role"] == shorter[-1]["role"]
        assert grown["content"].startswith(shorter[-1]["content"])
    roles = [each["role"] for each in longer]
    assert all(one != other for one, other in pairwise(roles))
    assert set(roles) <= {"system", "user", "assistant"}


@given(st.lists(message, max_size=5))
def test_rendering_is_valid_and_deterministic(history: list[Message]) -> None:
    body = json.dumps(request_body(request(*history, tools=("ls",)), TEXT))
    assert body == json.dumps(request_body(request(*history, tools=("ls",)), TEXT))


def test_calls_stand_in_the_text_and_all_results_of_an_answer_in_one_message() -> None:
    asked = (
        ToolCall("a", "ls", '{"path":  "."}'),
        ToolCall("b", "cat", "{broken"),
        ToolCall("c", "date", ""),
    )
    history: list[Message] = [
        UserMessage("Look."),
        AssistantMessage("I look.", asked),
        ToolMessage("a", "ls", "a.txt"),
        ToolMessage("b", "cat", "Error: no JSON"),
        ToolMessage("c", "date", "Monday"),
        UserMessage("Now conclude."),
        AssistantMessage("", (ToolCall("d", "ls", "{}"),)),
    ]
    assert text_messages("Be kind.", history) == [
        {"role": "system", "content": "Be kind.\n"},
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": 'I look.\n\n<tool_call>\n{"name": "ls", "arguments": {"path":  "."}}\n</tool_call>\n\n'
            '<tool_call>\n{"name": "cat", "arguments": "{broken"}\n</tool_call>\n\n'
            '<tool_call>\n{"name": "date", "arguments": {}}\n</tool_call>',
        },
        {
            "role": "user",
            "content": "[Tool Result: ls]\na.txt\n\n[Tool Result: cat]\nError: no JSON\n\n"
            "[Tool Result: date]\nMonday\n\nNow conclude.",
        },
        {"role": "assistant", "content": '<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>'},
    ]


def test_the_tools_stand_at_the_end_of_the_system_prompt_of_the_request_alone() -> None:
    asked = request("Hello", tools=("ls", "cat"))
    body = request_body(asked, TEXT)
    assert "tools" not in body
    system = body["messages"][0]["content"]
    assert system.startswith(f"{asked.system_prompt}\n\n{INSTRUCTIONS}")
    described = [json.loads(line) for line in system.splitlines()[-2:]]
    assert [each["name"] for each in described] == ["ls", "cat"]
    assert all(set(each) == {"name", "description", "parameters"} for each in described)
    assert request_body(request("Hello"), TEXT)["messages"][0]["content"] == "You are helpful.\n"


@pytest.mark.parametrize("tool_calls", ["structured", "text"])
def test_without_a_system_role_the_prompt_opens_the_first_user_message(tool_calls: str) -> None:
    dialect = Dialect(tool_calls="text" if tool_calls == "text" else "structured", system_role=False)
    (only,) = request_body(request("Hello"), dialect)["messages"]
    assert only["role"] == "user"
    assert only["content"].split() == ["You", "are", "helpful.", "Hello"]


@pytest.mark.parametrize(
    ("model", "strategy"),
    [
        ("gemma-3-4b-it", "text"),
        ("gemma3:4b", "text"),
        ("google/codegemma", "text"),
        ("tinyllama:1.1b", "text"),
        ("meta-llama/Llama-3.2-3B-Instruct", "text"),
        ("meta-llama/gpt-like", "structured"),
        ("microsoft/Phi-4-mini", "text"),
        ("SmolLM2-135M-Instruct", "text"),
        ("gpt-5-mini", "structured"),
        ("claude-sonnet-4-5", "structured"),
        ("qwen3-30b", "structured"),
        ("dolphin-2", "structured"),
        ("", "structured"),
    ],
)
def test_the_strategy_follows_from_the_name(model: str, strategy: str) -> None:
    assert uses_text_tool_calls(model) == strategy
