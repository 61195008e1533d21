from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from hermes_jobs.kernel.turns.messages import (
    AssistantMessage,
    Message,
    Payload,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from hermes_jobs.llm.anthropic.render import (
    CONTINUE_PROMPT,
    EARLIER,
    NO_OUTPUT,
    NO_RESULT,
    NO_TEXT,
    called_tools,
    lacks_thoughts,
    render,
)
from hermes_jobs.llm.anthropic.request import RequestOptions, request_body
from tests.llm.anthropic.histories import HERE, MODEL, anything, asked, everything, histories
from tests.providers.anthropic_rules import violations

THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "s1"}
HIDDEN = {"type": "redacted_thinking", "data": "d1"}


def user(*texts: str) -> dict[str, Any]:
    return {"role": "user", "content": [text(each) for each in texts]}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(key: str, name: str = "look", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": arguments}


def result(key: str, content: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": key, "content": content, **more}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


@given(histories)
def test_every_history_makes_a_request_that_the_api_takes(history: list[Message]) -> None:
    body = request_body(asked(*history), RequestOptions(), everything)
    assert violations(body) == []


@given(anything)
def test_a_history_out_of_order_makes_one_too(history: list[Message]) -> None:
    body = request_body(asked(*history), RequestOptions(), everything)
    assert violations(body) == []


@given(histories, histories)
def test_a_longer_history_begins_with_the_blocks_of_the_shorter(
    history: list[Message], more: list[Message]
) -> None:
    shorter = blocks(render(history, everything))
    longer = blocks(render([*history, *more], everything))
    assert longer[: len(shorter)] == shorter


@given(histories)
def test_a_history_is_rendered_the_same_each_time_and_left_as_it_is(history: list[Message]) -> None:
    before = list(history)
    assert render(history, everything) == render(history, everything)
    assert history == before


def blocks(messages: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    return [(message["role"], block) for message in messages for block in message["content"]]


@pytest.mark.parametrize(
    ("history", "messages"),
    [
        pytest.param([UserMessage("Hi")], [user("Hi")], id="one text"),
        pytest.param([UserMessage("a"), UserMessage("b")], [user("a", "b")], id="neighbours are one message"),
        pytest.param([UserMessage(" \n")], [user(NO_TEXT)], id="a text without text"),
        pytest.param(
            [AssistantMessage("Hello"), UserMessage("Hi")],
            [user(EARLIER), assistant(text("Hello")), user("Hi")],
            id="begins with the assistant",
        ),
        pytest.param(
            [UserMessage("Hi"), AssistantMessage("Hello")],
            [user("Hi"), assistant(text("Hello")), user(CONTINUE_PROMPT)],
            id="ends with the assistant",
        ),
        pytest.param(
            [UserMessage("a"), AssistantMessage(""), UserMessage("b")],
            [user("a", "b")],
            id="an empty answer is left out",
        ),
        pytest.param(
            [
                UserMessage("Look."),
                AssistantMessage(
                    "I do.", (ToolCall("c1", "look", '{"path":"a"}'), ToolCall("c2", "look", ""))
                ),
                ToolMessage("c1", "look", "one"),
                ToolMessage("c2", "look", "no such file", failed=True),
                UserMessage("Hurry."),
            ],
            [
                user("Look."),
                assistant(text("I do."), use("c1", path="a"), use("c2")),
                {
                    "role": "user",
                    "content": [
                        result("c1", "one"),
                        result("c2", "no such file", is_error=True),
                        text("Hurry."),
                    ],
                },
            ],
            id="a round of parallel calls",
        ),
        pytest.param(
            [
                UserMessage("Look."),
                AssistantMessage("", (ToolCall("c1", "look", "{}"), ToolCall("c2", "look", "{}"))),
                UserMessage("Hurry."),
                ToolMessage("c2", "look", " "),
            ],
            [
                user("Look."),
                assistant(use("c1"), use("c2")),
                {
                    "role": "user",
                    "content": [
                        result("c1", NO_RESULT, is_error=True),
                        result("c2", NO_OUTPUT),
                        text("Hurry."),
                    ],
                },
            ],
            id="a result is missing and another is blank",
        ),
        pytest.param(
            [UserMessage("Look."), ToolMessage("c9", "look", "one")],
            [user("Look.", "[Tool Result: look]\none")],
            id="a result without its call",
        ),
        pytest.param(
            [
                UserMessage("Look."),
                AssistantMessage("", (ToolCall("c1", "a b!", "{broken"),)),
                ToolMessage("c1", "a b!", "?"),
            ],
            [
                user("Look."),
                assistant(use("c1", "a_b_", unreadable_arguments="{broken")),
                {"role": "user", "content": [result("c1", "?")]},
            ],
            id="a call that was made up",
        ),
    ],
)
def test_histories_become_messages(history: list[Message], messages: list[dict[str, Any]]) -> None:
    assert render(history, everything) == messages


def test_ids_of_other_models_are_made_usable_and_unique() -> None:
    call = ToolCall("functions.look:0", "look", "{}")
    history: list[Message] = [UserMessage("Look.")]
    for _ in range(2):
        history += [AssistantMessage("", (call,)), ToolMessage(call.id, "look", "one")]
    messages = render(history, everything)
    asked_ids = [message["content"][0]["id"] for message in messages[1::2]]
    answered = [message["content"][0]["tool_use_id"] for message in messages[2::2]]
    assert asked_ids == answered
    assert len(set(asked_ids)) == 2
    assert all(each.replace("_", "").isalnum() for each in asked_ids)


PLACES = '{"type": "text", "chars": 6}, {"type": "tool_use", "id": "c1"}'


@pytest.mark.parametrize(
    ("data", "blocks"),
    [
        pytest.param(
            f'{{"content": [{{"type": "thinking", "thinking": "Hm.", "signature": "s1"}}, {PLACES}]}}',
            [THINKING, text("I do. "), use("c1")],
            id="first, unmodified, and the text as it was",
        ),
        pytest.param(
            f'{{"content": [{{"type": "redacted_thinking", "data": "d1"}}, {PLACES}]}}',
            [HIDDEN, text("I do. "), use("c1")],
            id="encrypted",
        ),
        pytest.param(
            '{"content": [{"type": "thinking", "thinking": "Hm.", "signature": "s1"}, '
            '{"type": "text", "chars": 3}, {"type": "redacted_thinking", "data": "d1"}, '
            '{"type": "tool_use", "id": "c1"}, {"type": "text", "chars": 3}]}',
            [THINKING, text("I d"), HIDDEN, use("c1"), text("o. ")],
            id="in between",
        ),
        pytest.param(
            '{"content": [{"type": "thinking", "thinking": "Hm.", "signature": "s1"}, '
            '{"type": "text", "chars": 4}, {"type": "tool_use", "id": "other"}]}',
            [THINKING, text("I do. "), use("c1")],
            id="beside another text and another call",
        ),
        pytest.param(
            '{"content": [{"type": "thinking", "thinking": "Hm.", "signature": "s1"}, '
            '{"type": "text", "text": "I do. "}, '
            '{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]}',
            [THINKING, text("I do. "), use("c1")],
            id="as the api has the blocks",
        ),
    ],
)
def test_thinking_blocks_are_returned_in_their_place(data: str, blocks: list[dict[str, Any]]) -> None:
    said = AssistantMessage(
        "I do. ", (ToolCall("c1", "look", "{}"),), Payload("anthropic", MODEL, HERE, data)
    )
    history: list[Message] = [UserMessage("Look."), said, ToolMessage("c1", "look", "one")]
    assert render(history, everything)[1] == assistant(*blocks)
    assert render(history, lambda payload, before: False)[1] == assistant(text("I do. "), use("c1"))


def test_payloads_of_other_apis_are_not_sent() -> None:
    foreign = Payload("deepseek", MODEL, HERE, '{"reasoning_content": "Hm."}')
    history: list[Message] = [UserMessage("Hi"), AssistantMessage("Hello", (), foreign), UserMessage("And?")]
    assert render(history, everything)[1] == assistant(text("Hello"))


def test_a_message_of_thoughts_alone_is_left_out() -> None:
    data = '{"content": [{"type": "thinking", "thinking": "Hm.", "signature": "s1"}]}'
    said = AssistantMessage("", (), Payload("anthropic", MODEL, HERE, data))
    history: list[Message] = [UserMessage("Hi"), said, UserMessage("And?")]
    assert render(history, everything) == [user("Hi", "And?")]


def test_a_tool_loop_that_began_without_a_thought_is_recognised() -> None:
    call = (ToolCall("c1", "look", "{}"),)
    loop: list[Message] = [UserMessage("Hi"), AssistantMessage("", call), ToolMessage("c1", "look", "one")]
    assert lacks_thoughts(render(loop, everything))
    assert not lacks_thoughts(render([*loop, AssistantMessage("Done."), UserMessage("And?")], everything))
    assert called_tools(loop) == ["look"]
