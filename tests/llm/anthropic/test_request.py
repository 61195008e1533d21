from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel.engine.ports import ModelRequest
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.kernel.turns.rhythm import CacheTtl
from hermes_jobs.llm.anthropic.abilities import abilities
from hermes_jobs.llm.anthropic.request import RequestOptions, request_body, without
from hermes_jobs.llm.families import Effort
from tests.llm.anthropic.histories import TOOLS, asked, everything, histories
from tests.providers.anthropic_rules import violations
from tests.tables import each_row

CALLED: tuple[Message, ...] = (
    UserMessage("Look."),
    AssistantMessage("", (ToolCall("c1", "look", "{}"),)),
    ToolMessage("c1", "look", "one"),
)
MODELS = [
    "claude-3-5-haiku-20241022", "claude-3-7-sonnet-latest", "claude-opus-4-1-20250805", "claude-sonnet-4-0",
    "claude-sonnet-4-5", "claude-haiku-4-5-20251001", "claude-opus-4-5", "claude-opus-4-6",
    "claude-sonnet-4-6", "claude-opus-4-8", "claude-sonnet-5", "claude-opus-5", "claude-fable-5-1",
    "claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5-5", "claude-opus-7",
    "anthropic/claude-sonnet-4.5",
]  # fmt: skip
EFFORTS: list[Effort | None] = [None, "none", "low", "medium", "high", "max"]


@each_row(list(product(MODELS, EFFORTS, [None, 300, 3_000])))
def test_every_effort_is_asked_for_as_the_model_takes_it(
    model: str, effort: Effort | None, max_tokens: int | None
) -> None:
    request = ModelRequest(
        model=model, system_prompt="", messages=(UserMessage("Hi"),), max_tokens=max_tokens, temperature=0.5
    )
    assert violations(request_body(request, RequestOptions(effort=effort), everything)) == []


@pytest.mark.parametrize(
    ("model", "effort", "fields"),
    [
        ("claude-sonnet-4-5", None, {"max_tokens": 64_000}),
        ("claude-opus-4-1", None, {"max_tokens": 32_000}),
        ("claude-sonnet-4-5", "none", {"max_tokens": 64_000}),
        (
            "claude-sonnet-4-5",
            "high",
            {"max_tokens": 64_000, "thinking": {"type": "enabled", "budget_tokens": 16_384}},
        ),
        (
            "claude-opus-4-5",
            "max",
            {
                "max_tokens": 64_000,
                "thinking": {"type": "enabled", "budget_tokens": 32_000},
                "output_config": {"effort": "high"},
            },
        ),
        (
            "claude-opus-4-8",
            "max",
            {
                "max_tokens": 64_000,
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "max"},
            },
        ),
        ("claude-opus-4-8", "none", {"max_tokens": 64_000}),
        ("claude-sonnet-5", "none", {"max_tokens": 64_000, "thinking": {"type": "disabled"}}),
        ("claude-sonnet-5-5", "none", {"max_tokens": 64_000, "thinking": {"type": "between_tools"}}),
        ("claude-opus-5-5", "none", {"max_tokens": 64_000, "output_config": {"effort": "low"}}),
        ("claude-3-5-haiku-20241022", "high", {"max_tokens": 8_192}),
        (
            "kimi-k2",
            "low",
            {"max_tokens": 8_192, "thinking": {"type": "enabled", "budget_tokens": 2_048}},
        ),
    ],
)
def test_effort_becomes_the_parameters_of_each_family(
    model: str, effort: Effort | None, fields: dict[str, Any]
) -> None:
    body = request_body(asked(UserMessage("Hi"), model=model), RequestOptions(effort=effort), everything)
    names = ("max_tokens", "thinking", "output_config", "temperature")
    assert {name: body[name] for name in names if name in body} == fields


def test_a_budget_leaves_room_for_the_answer_and_is_none_where_there_is_too_little() -> None:
    def budget(max_tokens: int) -> int | None:
        request = ModelRequest(
            model="claude-sonnet-4-5",
            system_prompt="",
            messages=(UserMessage("Hi"),),
            max_tokens=max_tokens,
        )
        body = request_body(request, RequestOptions(effort="high"), everything)
        assert body["max_tokens"] == max_tokens
        found: int | None = body.get("thinking", {}).get("budget_tokens")
        return found

    assert (budget(40_000), budget(4_000), budget(2_000)) == (16_384, 2_000, None)


def test_within_a_loop_that_began_without_a_thought_nothing_is_thought_in_a_budget() -> None:
    conduct = RequestOptions(effort="high")
    assert "thinking" not in request_body(asked(*CALLED), conduct, everything)
    assert "thinking" in request_body(asked(*CALLED, model="claude-opus-5"), conduct, everything)


def test_tools_are_declared_and_not_called_in_a_closing_call() -> None:
    closing = ModelRequest(
        model="claude-sonnet-4-5", system_prompt="", messages=CALLED, tools=TOOLS, tool_choice="none"
    )
    body = request_body(closing, RequestOptions(), everything)
    assert ([tool["name"] for tool in body["tools"]], body["tool_choice"]) == (["look"], {"type": "none"})
    assert "tool_choice" not in request_body(asked(*CALLED), RequestOptions(), everything)


def test_calls_of_the_history_are_declared_where_no_tools_are_offered() -> None:
    body = request_body(asked(*CALLED, tools=()), RequestOptions(), everything)
    assert ([tool["name"] for tool in body["tools"]], body["tool_choice"]) == (["look"], {"type": "none"})
    assert "tools" not in request_body(asked(UserMessage("Hi"), tools=()), RequestOptions(), everything)


def marks(body: dict[str, Any]) -> list[str]:
    places = [("tools", body.get("tools", [])), ("system", body.get("system", []))]
    places += [(f"message {at}", message["content"]) for at, message in enumerate(body["messages"])]
    return [
        f"{name}.{at}" for name, listed in places for at, each in enumerate(listed) if "cache_control" in each
    ]


@pytest.mark.parametrize(
    ("request_", "places"),
    [
        (asked(UserMessage("Hi")), ["tools.0", "system.0", "message 0.0"]),
        (asked(*CALLED), ["tools.0", "system.0", "message 0.0", "message 2.0"]),
        (
            asked(*CALLED, UserMessage("Hurry."), AssistantMessage("Done."), UserMessage("And?")),
            ["tools.0", "system.0", "message 2.1", "message 4.0"],
        ),
        (
            ModelRequest(
                model="claude-sonnet-4-5",
                system_prompt="",
                messages=(*(UserMessage("u"), AssistantMessage("a")) * 5, UserMessage("end")),
            ),
            ["message 4.0", "message 6.0", "message 8.0", "message 10.0"],
        ),
    ],
)
def test_marks_are_on_tools_system_and_the_last_user_messages(
    request_: ModelRequest, places: list[str]
) -> None:
    assert marks(request_body(request_, RequestOptions(), everything)) == places
    assert marks(request_body(request_, RequestOptions(marks=None), everything)) == []


@given(histories, st.sampled_from(["5m", "1h"]))
def test_without_its_marks_a_request_is_the_same(history: list[Message], ttl: CacheTtl) -> None:
    marked = request_body(asked(*history), RequestOptions(marks=ttl), everything)
    assert 3 <= len(marks(marked)) <= 4
    assert ('"ttl": "1h"' in json.dumps(marked)) == (ttl == "1h")
    assert unmarked(marked) == request_body(asked(*history), RequestOptions(marks=None), everything)


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: unmarked(each) for name, each in value.items() if name != "cache_control"}
    return [unmarked(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ("system.0.cache_control: Extra inputs are not permitted", RequestOptions(marks=None, effort="low")),
        ("adaptive thinking is not supported on this model", RequestOptions()),
        ("output_config: Extra inputs are not permitted", RequestOptions()),
        ("max_tokens: 1 > 0", None),
    ],
)
def test_parameters_that_an_endpoint_refuses_are_left_out(said: str, changed: RequestOptions | None) -> None:
    assert without(RequestOptions(effort="low"), said) == changed


def test_marks_that_the_settings_insist_on_are_not_left_out() -> None:
    assert (
        without(RequestOptions(insists_on_marks=True), "cache_control: Extra inputs are not permitted")
        is None
    )


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-4-1"),
        ("anthropic/claude-opus-4.1", "claude-opus-4-1"),
        ("claude-3-5-sonnet-20241022", "claude-3-5-haiku-latest"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4-0"),
        ("claude-haiku-5-5@20261007", "claude-haiku-5-5"),
        ("claude-mythos-preview", "claude-opus-9"),
    ],
)
def test_a_model_is_known_in_every_form_of_its_name(name: str, same: str) -> None:
    assert abilities(name) == abilities(same)
