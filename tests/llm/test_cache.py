from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.llm.client import OpenAIModel
from hermes_jobs.llm.dialect import ApiOptions, first_dialect
from hermes_jobs.llm.render import mark_for_caching
from tests.llm.asking import ask, request
from tests.model_script import Answer, Refuse
from tests.model_server import ModelServer

Json = dict[str, Any]
MARK = {"type": "ephemeral"}


def text(role: str, content: str) -> Json:
    return {"role": role, "content": content}


def carried(content: str, mark: Json = MARK) -> list[Json]:
    return [{"type": "text", "text": content, "cache_control": mark}]


CALLS = {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "a.txt"}
HISTORY = [
    text("system", "Be kind."),
    text("user", "1"),
    text("assistant", "2"),
    text("user", "3"),
    CALLS,
    RESULT,
]


def test_marks_move_back_to_messages_with_text() -> None:
    assert mark_for_caching(HISTORY, ttl="5m", tools=False) == [
        text("system", "") | {"content": carried("Be kind.")},
        text("user", "") | {"content": carried("1")},
        text("assistant", "") | {"content": carried("2")},
        text("user", "") | {"content": carried("3")},
        CALLS,
        RESULT,
    ]


def test_where_they_take_one_results_carry_a_mark_on_a_part_of_their_content() -> None:
    hour = {"type": "ephemeral", "ttl": "1h"}
    assert mark_for_caching(HISTORY, ttl="1h", tools=True) == [
        text("system", "") | {"content": carried("Be kind.", hour)},
        HISTORY[1],
        text("assistant", "") | {"content": carried("2", hour)},
        text("user", "") | {"content": carried("3", hour)},
        CALLS,
        RESULT | {"content": carried(RESULT["content"], hour)},
    ]


def test_a_list_takes_the_mark_on_its_last_part_and_an_empty_text_takes_none() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    history = [{"role": "user", "content": parts}, text("assistant", "")]
    first, second = mark_for_caching(history, ttl="5m", tools=False)
    assert first["content"] == [parts[0], parts[1] | {"cache_control": MARK}]
    assert second == text("assistant", "")


contents = st.none() | st.text(max_size=5) | st.lists(st.just({"type": "text", "text": "x"}), max_size=2)
rendered = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool"]), "content": contents}
)


@given(st.booleans(), st.lists(rendered, max_size=9), st.booleans())
def test_there_are_at_most_four_marks_and_the_given_messages_stay_as_they_are(
    system: bool, history: list[Json], tools: bool
) -> None:
    messages = [*([text("system", "S")] if system else []), *history]
    before = deepcopy(messages)
    result = mark_for_caching(messages, ttl="5m", tools=tools)
    assert messages == before
    assert str(result).count("cache_control") <= 3 + system
    assert [without_marks(each) for each in result] == [without_marks(each) for each in before]


def without_marks(message: Json) -> Json:
    """The message as it was, a text always as a list."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
    if isinstance(parts, list):
        parts = [{key: value for key, value in part.items() if key != "cache_control"} for part in parts]
    return {"role": message["role"], "content": parts}


@pytest.mark.parametrize(
    ("setting", "model", "marks"),
    [
        ("auto", "claude-sonnet-4-5", True),
        ("auto", "anthropic/Claude-opus", True),
        ("auto", "gpt-5", False),
        ("on", "gpt-5", True),
        ("off", "claude-sonnet-4-5", False),
    ],
)
def test_marks_are_for_claude_unless_the_settings_say_otherwise(
    setting: Any, model: str, marks: bool
) -> None:
    dialect = first_dialect("http://127.0.0.1/v1", model, ApiOptions(prompt_cache=setting, cache_ttl="1h"))
    assert dialect.cache == ("1h" if marks else None)
    assert dialect.marks_tools == ("/" in model)
    assert first_dialect("https://openrouter.ai/api/v1/", model).marks_tools


@pytest.fixture
def model(model_server: ModelServer) -> Iterator[OpenAIModel]:
    made = OpenAIModel(api_key=None, base_url=model_server.base_url)
    yield made
    made.close()


def test_thirty_calls_send_one_prompt_whose_beginning_stays_while_the_marks_move_on(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    model_server.follow(lambda seen: Answer(text=f"Answer {seen.number}"))
    history: list[Message] = []
    for number in range(15):
        call = ToolCall(f"call{number:05d}", "ls", "{}")
        history += [UserMessage(f"Question {number}"), AssistantMessage("", (call,))]
        history += [ToolMessage(call.id, call.name, "a.txt")]
        replies = [ask(model, replace(request(*history), model=name)) for name in ("claude-x", "other")]
        history.append(AssistantMessage(replies[0].content))
    for name, most in (("claude-x", 4), ("other", 0)):
        sent = [seen.messages for seen in model_server.requests if seen.body["model"] == name]
        assert [str(messages).count("cache_control") for messages in sent[2:]] == [most] * 13
        plain = [[without_marks(each) for each in messages] for messages in sent]
        for shorter, longer in pairwise(plain):
            assert longer[: len(shorter)] == shorter


def test_an_endpoint_that_refuses_the_field_is_asked_without_it_from_then_on(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    refusal = "messages.0.content.0.cache_control: Extra inputs are not permitted"
    model_server.follow([Refuse(status=400, message=refusal)])
    for _ in range(2):
        ask(model, replace(request("Hello"), model="claude-x"))
    assert ["cache_control" in str(seen.body) for seen in model_server.requests] == [True, False, False]
