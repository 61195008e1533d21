from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel.engine.ports import ModelRequest
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.llm.adaptation import adapt
from hermes_jobs.llm.call_ids import with_valid_ids
from hermes_jobs.llm.dialect import first_dialect
from hermes_jobs.llm.render import request_body

FORMS = [".+", ".{1,40}", "[a-zA-Z0-9]{9}", "[a-zA-Z0-9_-]+"]
rounds = st.lists(
    st.lists(st.sampled_from(["a", "call_0", "functions.ls:0", "x" * 90, "abcdefghi"]), max_size=3)
)


def history(asked: list[list[str]]) -> list[Message]:
    said: list[Message] = [UserMessage("Go.")]
    for ids in asked:
        unique = list(dict.fromkeys(ids))
        said.append(AssistantMessage("", tuple(ToolCall(each, "ls", "{}") for each in unique)))
        said += [ToolMessage(each, "ls", "ok") for each in reversed(unique)]
    return said


@given(rounds, st.sampled_from(FORMS), st.integers(0, 9))
def test_every_call_has_an_id_of_its_own_and_its_result_answers_to_it(
    asked: list[list[str]], form: str, cut: int
) -> None:
    messages = history(asked)
    sent = with_valid_ids(messages, form)
    calls = [call.id for each in sent if isinstance(each, AssistantMessage) for call in each.tool_calls]
    assert len(set(calls)) == len(calls)
    assert all(re.fullmatch(form, each) for each in calls)
    open_calls: set[str] = set()
    for message in sent:
        if isinstance(message, AssistantMessage):
            assert not open_calls
            open_calls = {call.id for call in message.tool_calls}
        elif isinstance(message, ToolMessage):
            open_calls.remove(message.tool_call)
    assert list(sent[:cut]) == list(with_valid_ids(messages[:cut], form))


def test_ids_that_are_taken_as_they_are_stay() -> None:
    messages = history([["a", "b"], ["c"]])
    assert with_valid_ids(messages, ".{1,40}") is messages


@pytest.mark.parametrize("base_url", ["https://api.mistral.ai/v1", "http://127.0.0.1:9/v1"])
def test_mistral_gets_its_ids_and_an_assistants_word_after_results(base_url: str) -> None:
    messages = (*history([["call_1"]]), UserMessage("And also this."))
    request = ModelRequest(model="devstral-medium", system_prompt="S", messages=messages)
    said = request_body(request, first_dialect(base_url, "devstral-medium"))["messages"]
    assert [each["role"] for each in said] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert re.fullmatch("[a-zA-Z0-9]{9}", said[2]["tool_calls"][0]["id"])
    assert said[3]["tool_call_id"] == said[2]["tool_calls"][0]["id"]


@pytest.mark.parametrize(
    ("refused", "field", "value"),
    [
        (
            "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            "call_ids",
            "[a-zA-Z0-9]{9}",
        ),
        ("Unexpected role 'user' after role 'tool'", "closes_rounds", True),
    ],
)
def test_an_endpoint_that_says_so_is_served_like_mistral(refused: str, field: str, value: object) -> None:
    plain = first_dialect("http://127.0.0.1:9/v1", "some-model")
    changed = adapt(plain, 400, refused)
    assert changed is not None
    assert getattr(changed.family, field) == value
    assert adapt(changed, 400, refused) is None
