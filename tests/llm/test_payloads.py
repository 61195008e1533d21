"""What providers attach to a message comes back to them as it came, and to nobody else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel.engine.ports import ModelRequest, Reply, ToolSpec
from hermes_jobs.kernel.turns.messages import AssistantMessage, Payload, ToolCall, ToolMessage, UserMessage
from hermes_jobs.llm.adaptation import adapt
from hermes_jobs.llm.assembly import ReplyAssembler
from hermes_jobs.llm.dialect import ApiOptions, Dialect, first_dialect
from hermes_jobs.llm.families import FAMILIES, family_of
from hermes_jobs.llm.render import request_body
from hermes_jobs.llm.reply_builder import builder_for
from hermes_jobs.llm.responses import ResponsesAssembler, responses_body

Json = dict[str, Any]

DEEPSEEK, GEMINI = "https://api.deepseek.com", "https://generativelanguage.googleapis.com/v1beta/openai/"
OPENROUTER, LOCAL = "https://openrouter.ai/api/v1", "http://127.0.0.1:9/v1"
OPENAI = "https://api.openai.com/v1"
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
LS = ToolSpec(name="ls", description="Lists.", parameters={"type": "object"})
SIGNED = {"google": {"thought_signature": "sig-1"}}


def request(model: str, *messages: Any) -> ModelRequest:
    return ModelRequest(model=model, system_prompt="S", messages=messages, tools=(LS,), session="s1")


def answered(dialect: Dialect, model: str, *deltas: Json) -> Reply:
    """The reply that a stream of these deltas makes."""
    assembler = ReplyAssembler(builder_for(request(model), dialect))
    for delta in deltas:
        assembler.feed({"choices": [{"delta": delta}]})
    return assembler.draft.finish()[0]


def next_message(base_url: str, model: str, reply: Reply, **changed: Any) -> Json:
    """The assistant message in the request after the reply, perhaps at another endpoint or model."""
    history = (
        UserMessage("Go."),
        AssistantMessage(reply.content, reply.tool_calls, reply.payload),
        *(ToolMessage(call.id, call.name, "ok") for call in reply.tool_calls),
    )
    manner = ApiOptions(**changed)
    message: Json = request_body(request(model, *history), first_dialect(base_url, model, manner))[
        "messages"
    ][2]
    return message


def test_deepseeks_reasoning_comes_back_in_all_later_requests_with_and_without_calls() -> None:
    dialect = first_dialect(DEEPSEEK, "deepseek-v4-pro")
    deltas = [
        {"reasoning_content": "Let me "},
        {"reasoning_content": "look 家\ud83d"},
        {"reasoning_content": "\ude00."},
    ]
    asked = answered(dialect, "deepseek-v4-pro", *deltas, {"tool_calls": [CALL]})
    assert next_message(DEEPSEEK, "deepseek-v4-flash", asked)["reasoning_content"] == "Let me look 家😀."
    said = answered(dialect, "deepseek-v4-pro", *deltas, {"content": "Done."})
    assert next_message(DEEPSEEK, "deepseek-v4-pro", said)["reasoning_content"] == "Let me look 家😀."


def test_calls_of_another_model_carry_the_placeholder_that_deepseek_accepts() -> None:
    plain = Reply(content="", tool_calls=(ToolCall("x", "ls", "{}"),))
    assert next_message(DEEPSEEK, "deepseek-v4-pro", plain)["reasoning_content"] == " "
    assert "reasoning_content" not in next_message(DEEPSEEK, "deepseek-v4-pro", Reply(content="Hello."))
    assert "reasoning_content" not in next_message(LOCAL, "qwen3", plain)


def test_a_signature_of_gemini_stays_on_its_call_and_a_foreign_call_gets_the_documented_placeholder() -> None:
    dialect = first_dialect(GEMINI, "gemini-3-pro-preview")
    second = {**CALL, "index": 1, "id": "c2"}
    reply = answered(
        dialect,
        "gemini-3-pro-preview",
        {"tool_calls": [{**CALL, "extra_content": SIGNED}]},
        {"tool_calls": [second]},
    )
    first, other = next_message(GEMINI, "gemini-3-pro-preview", reply)["tool_calls"]
    assert first["extra_content"] == SIGNED
    assert "extra_content" not in other
    plain = Reply(content="", tool_calls=(ToolCall("x", "ls", "{}"),))
    (foreign,) = next_message(GEMINI, "gemini-3-pro-preview", plain)["tool_calls"]
    assert foreign["extra_content"] == {"google": {"thought_signature": "skip_thought_signature_validator"}}
    (older,) = next_message(GEMINI, "gemini-2.5-pro", plain)["tool_calls"]
    assert "extra_content" not in older


def test_pieces_of_openrouters_reasoning_details_are_joined_by_their_index_and_stay_in_order() -> None:
    model = "anthropic/claude-sonnet-4.5"
    dialect = first_dialect(OPENROUTER, model)
    pieces: list[Json] = [
        {"type": "reasoning.text", "text": "Let", "format": "anthropic-claude-v1", "index": 0},
        {"type": "reasoning.text", "text": " me.", "format": "anthropic-claude-v1", "index": 0},
        {"type": "reasoning.text", "signature": "Et8B", "format": "anthropic-claude-v1", "index": 0},
        {"type": "reasoning.encrypted", "data": "AAA=", "id": "rs_1", "index": 1},
        {"type": "reasoning.summary", "summary": "Short."},
        {"type": "reasoning.summary", "summary": "Other."},
    ]
    deltas = [{"reasoning": each.get("text"), "reasoning_details": [each]} for each in pieces]
    reply = answered(dialect, model, *deltas, {"tool_calls": [CALL]})
    message = next_message(OPENROUTER, model, reply)
    assert message["reasoning_details"] == [
        {
            "type": "reasoning.text",
            "text": "Let me.",
            "format": "anthropic-claude-v1",
            "index": 0,
            "signature": "Et8B",
        },
        *pieces[3:],
    ]
    assert "reasoning" not in message
    assert reply.reasoning.startswith("Let")
    assert "reasoning_details" not in next_message(OPENROUTER, "openai/gpt-5", reply)
    assert next_message(OPENROUTER, model, reply) == message  # switching back restores it


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_an_unknown_endpoint_gets_reasoning_back_in_its_own_field(field: str) -> None:
    dialect = first_dialect(LOCAL, "gpt-oss-20b")
    reply = answered(dialect, "gpt-oss-20b", {field: "Hm."}, {"tool_calls": [CALL]})
    assert next_message(LOCAL, "gpt-oss-20b", reply)[field] == "Hm."
    assert field not in next_message(LOCAL, "qwen3", reply)
    assert field not in next_message("http://127.0.0.1:10/v1", "gpt-oss-20b", reply)
    spoken = answered(dialect, "gpt-oss-20b", {field: "Hm."}, {"content": "Done."})
    assert field not in next_message(LOCAL, "gpt-oss-20b", spoken)


@pytest.mark.parametrize(
    ("base_url", "model", "provider", "name"),
    [
        (DEEPSEEK, "deepseek-v4-pro", "auto", "deepseek"),
        (LOCAL, "deepseek-chat", "auto", "deepseek"),
        (LOCAL, "some-model", "deepseek", "deepseek"),
        (GEMINI, "gemini-3-pro-preview", "auto", "gemini"),
        ("https://us-central1-aiplatform.googleapis.com/v1/x", "google/gemini-3-pro", "auto", "gemini"),
        (LOCAL, "gemini-3-flash", "auto", "gemini"),
        (OPENROUTER, "deepseek/deepseek-v4-pro", "auto", "openrouter"),
        (LOCAL, "x", "openrouter", "openrouter"),
        ("https://mine.openai.azure.com/openai/v1", "gpt-5", "auto", "openai"),
        (LOCAL, "x", "azure", "openai"),
        ("https://api.moonshot.ai/v1", "kimi-k2-thinking", "auto", "moonshot"),
        (LOCAL, "qwen3", "auto", "chat"),
        ("https://evil-api.deepseek.com.example", "x", "auto", "chat"),
    ],
)
def test_the_family_follows_from_the_provider_the_host_or_the_model(
    base_url: str, model: str, provider: str, name: str
) -> None:
    assert family_of(base_url, model, provider).name == name


EFFORTS: list[tuple[str, str, str, Json]] = [
    (OPENAI, "gpt-5.2", "max", {"reasoning_effort": "xhigh"}),
    (OPENAI, "gpt-4o", "high", {}),
    (DEEPSEEK, "deepseek-v4-pro", "none", {"thinking": {"type": "disabled"}}),
    (DEEPSEEK, "deepseek-v4-pro", "max", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
    (GEMINI, "gemini-3-pro-preview", "max", {"reasoning_effort": "high"}),
    (OPENROUTER, "z-ai/glm-5", "low", {"reasoning": {"effort": "low"}}),
    (
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "qwen3-max",
        "none",
        {"enable_thinking": False},
    ),
    ("https://api.z.ai/api/paas/v4", "glm-4.7", "none", {"thinking": {"type": "disabled"}}),
    ("https://api.minimax.io/v1", "MiniMax-M2", "high", {"reasoning_split": True}),
    (LOCAL, "gpt-oss-20b", "max", {"reasoning_effort": "high"}),
    (LOCAL, "deepseek-r1", "low", {"reasoning_effort": "low"}),
]


@pytest.mark.parametrize(("base_url", "model", "effort", "fields"), EFFORTS)
def test_an_effort_is_asked_for_in_the_endpoints_own_parameter(
    base_url: str, model: str, effort: Any, fields: Json
) -> None:
    asked = request(model, UserMessage("Hi."))
    plain = request_body(asked, first_dialect(base_url, model, ApiOptions(reasoning_effort=None)))
    body = request_body(asked, first_dialect(base_url, model, ApiOptions(reasoning_effort=effort)))
    always = family_of(base_url, model).always
    assert {**plain, **fields} == body
    assert {name: plain[name] for name in always} == dict(always)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_effort_is_known_to_a_family_or_left_out(family: Any) -> None:
    assert set(family.efforts) <= {"none", "low", "medium", "high", "max"}


REFUSED = [
    ("Function call is missing a thought_signature in functionCall parts.", LOCAL, "x", "call_filler"),
    ("The `reasoning_content` in the thinking mode must be passed back to the API.", LOCAL, "x", "filler"),
    (
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
        LOCAL,
        "x",
        "filler",
    ),
]


@pytest.mark.parametrize(("said", "base_url", "model", "filled"), REFUSED)
def test_a_missing_field_named_by_a_refusal_is_added(
    said: str, base_url: str, model: str, filled: str
) -> None:
    changed = adapt(first_dialect(base_url, model), 400, said)
    assert changed is not None
    assert getattr(changed.family, filled)
    assert changed.family.wants_filler(model)


def test_a_corrupted_signature_is_sent_once_more_then_replaced_then_left_out() -> None:
    dialect: Dialect | None = first_dialect(GEMINI, "gemini-3-pro-preview")
    seen = []
    while dialect is not None:
        seen.append(dialect.payloads)
        dialect = adapt(dialect, 400, "Corrupted thought signature.")
    assert seen == ["send", "again", "replace", "omit"]


@pytest.mark.parametrize(
    "said",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "The encrypted content gAAAA could not be verified.",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ],
)
def test_unverifiable_thinking_is_left_out(said: str) -> None:
    changed = adapt(first_dialect(OPENROUTER, "anthropic/claude-sonnet-4.5"), 400, said)
    assert changed is not None
    assert changed.payloads in {"replace", "omit"}
    message = AssistantMessage(
        "", (ToolCall("c", "ls", "{}"),), Payload("openrouter", "m", "openrouter.ai", "{}")
    )
    body = request_body(request("m", message), changed)
    assert set(body["messages"][1]) == {"role", "content", "tool_calls"}


@pytest.mark.parametrize(
    "said",
    [
        "property 'reasoning_content' is unsupported",
        "body.messages.2.assistant.reasoning_details: Extra inputs are not permitted",
        "Unknown parameter: 'messages[2].tool_calls[0].extra_content'",
    ],
)
def test_an_endpoint_without_the_field_gets_none(said: str) -> None:
    changed = adapt(first_dialect(LOCAL, "deepseek-r1"), 400, said)
    assert changed is not None
    assert (changed.family.fields, changed.family.call_fields) == ((), ())
    assert adapt(changed, 400, said) is None


ITEMS: list[Json] = [
    {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
    {
        "id": "msg_1",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
    },
    {"id": "rs_2", "type": "reasoning", "summary": [], "encrypted_content": "gBBB"},
    {
        "id": "fc_1",
        "type": "function_call",
        "call_id": "c1",
        "name": "ls",
        "arguments": "{}",
        "status": "completed",
    },
]


@pytest.mark.parametrize("streamed", [True, False])
def test_reasoning_items_precede_the_calls_that_they_came_with(streamed: bool) -> None:
    dialect = first_dialect(OPENAI, "gpt-5", ApiOptions(api="responses"))
    assembler = ResponsesAssembler(builder_for(request("gpt-5"), dialect))
    if streamed:
        for at, item in enumerate(ITEMS):
            assembler.feed(
                {"type": "response.output_item.added", "output_index": at, "item": {**item, "arguments": ""}}
            )
            assembler.feed({"type": "response.output_item.done", "output_index": at, "item": item})
        assembler.feed({"type": "response.completed", "response": {"model": "gpt-5", "usage": {}}})
    else:
        assembler.feed({"object": "response", "output": ITEMS, "model": "gpt-5", "usage": {}})
    reply, _ = assembler.draft.finish()
    history = (
        UserMessage("Go."),
        AssistantMessage(reply.content, reply.tool_calls, reply.payload),
        ToolMessage("c1", "ls", "ok"),
    )
    body = responses_body(request("gpt-5", *history), dialect)
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["store"] is False
    assert body["prompt_cache_key"] == "s1"
    sent = body["input"][1:5]
    assert [sent[0], sent[2]] == [ITEMS[0], ITEMS[2]]
    assert sent[1]["content"] == [{"type": "output_text", "text": "I look.", "annotations": []}]
    assert sent[3] == ITEMS[3]
    other = responses_body(request("gpt-5-mini", *history), dialect)
    assert [item["type"] for item in other["input"]] == [
        "message",
        "message",
        "function_call",
        "function_call_output",
    ]


@given(
    st.lists(st.sampled_from(["deepseek-v4-pro", "gemini-3-pro", "gpt-oss", "deepseek-v4-flash"]), max_size=8)
)
def test_a_longer_history_begins_with_the_bytes_of_the_shorter(models: list[str]) -> None:
    history: list[Any] = [UserMessage("Go.")]
    for at, model in enumerate(models):
        delta = {
            "reasoning_content": f"r{at}",
            "tool_calls": [{**CALL, "id": f"c{at}", "extra_content": SIGNED}],
        }
        reply = answered(first_dialect(LOCAL, model), model, delta)
        history += [
            AssistantMessage(reply.content, reply.tool_calls, reply.payload),
            ToolMessage(f"c{at}", "ls", "ok"),
        ]
    for model in ("deepseek-v4-pro", "gemini-3-pro", "gpt-oss"):
        whole = request_body(request(model, *history), first_dialect(LOCAL, model))["messages"]
        for end in range(len(history)):
            part = request_body(request(model, *history[:end]), first_dialect(LOCAL, model))["messages"]
            assert json.dumps(part)[:-1] == json.dumps(whole[: len(part)])[:-1]
