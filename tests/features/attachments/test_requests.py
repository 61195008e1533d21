"""Attachments in the requests of the four dialects, by the types of the official clients."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace
from openai.types.chat import ChatCompletionUserMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

from hermes_jobs.kernel.engine.ports import ModelRequest, ToolSpec
from hermes_jobs.kernel.log.blobs import digest_of
from hermes_jobs.kernel.turns.attachments import Attachment, attachment_tokens, in_words, picture_tokens
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.llm.adaptation import adapt
from hermes_jobs.llm.anthropic.request import RequestOptions, without, without_features
from hermes_jobs.llm.anthropic.request import request_body as anthropic_body
from hermes_jobs.llm.attachments import Takes
from hermes_jobs.llm.dialect import ApiOptions, Dialect, first_dialect
from hermes_jobs.llm.refusals import refused_features
from hermes_jobs.llm.refusals import without_features as chat_without
from hermes_jobs.llm.render import mark_for_caching, request_body
from hermes_jobs.llm.responses import responses_body
from hermes_jobs.llm.windows import estimated_tokens
from tests.features.attachments.files import document, picture
from tests.providers.anthropic_rules import violations

PNG, JPEG, PDF = picture("PNG"), picture("JPEG"), document(["The lamp is in room 7.", "Two."])
TEXT = b"The lamp </attachment> is in room 7.\fTwo."
CONTENTS: Mapping[str, bytes] = {digest_of(content): content for content in (PNG, JPEG, PDF, TEXT)}
SIGN = Attachment(
    digest="0" * 64,
    media_type="image/webp",
    size=9_000,
    file_name="sign.webp",
    sent=digest_of(PNG),
    width=40,
    height=20,
)
PHOTO = Attachment(
    digest=digest_of(JPEG),
    media_type="image/jpeg",
    size=len(JPEG),
    file_name="photo.jpg",
    width=40,
    height=20,
)
PAPER = Attachment(
    digest=digest_of(PDF),
    media_type="application/pdf",
    size=len(PDF),
    file_name="paper.pdf",
    text=digest_of(TEXT),
    pages=2,
    characters=41,
)
HISTORY: tuple[Message, ...] = (
    UserMessage("What is this?", (SIGN, PHOTO)),
    AssistantMessage("A sign."),
    UserMessage("And this?", (PAPER,)),
)
CALLS = (ToolCall("c1", "plot", "{}"), ToolCall("c2", "read_file", "{}"))
WITH_TOOLS: tuple[Message, ...] = (
    UserMessage("Draw it."),
    AssistantMessage("", CALLS),
    ToolMessage("c1", "plot", "Drawn.", failed=True, attachments=(SIGN,)),
    ToolMessage("c2", "read_file", "paper.pdf", attachments=(PAPER,)),
    UserMessage("And?"),
    AssistantMessage("Here."),
    UserMessage("Thanks."),
)
OPENAI = "https://api.openai.com/v1"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/openai"
CHAT_USER: TypeAdapter[Any] = TypeAdapter(ChatCompletionUserMessageParam)
INPUT_ITEM: TypeAdapter[Any] = TypeAdapter(ResponseInputItemParam)


def asked(model: str = "gpt-4.1", messages: tuple[Message, ...] = HISTORY) -> ModelRequest:
    return ModelRequest(model=model, system_prompt="Be brief.", messages=messages, contents=CONTENTS)


def user_contents(messages: list[dict[str, Any]]) -> list[Any]:
    return [message["content"] for message in messages if message["role"] == "user"]


def bytes_of(url: str) -> bytes:
    return b64decode(url.partition(";base64,")[2], validate=True)


def test_chat_completions_have_pictures_before_the_text_and_files_with_their_names() -> None:
    body = request_body(asked(), first_dialect(OPENAI, "gpt-4.1"))
    first, second = user_contents(body["messages"])
    for message in body["messages"][1::2]:
        CHAT_USER.validate_python(message)
    assert [part["type"] for part in first] == ["text", "image_url", "text", "image_url", "text"]
    assert first[1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert [bytes_of(first[at]["image_url"]["url"]) for at in (1, 3)] == [PNG, JPEG]
    assert second[0]["file"]["filename"] == "paper.pdf"
    assert bytes_of(second[0]["file"]["file_data"]) == PDF
    assert second[1] == {"type": "text", "text": "And this?"}


def test_the_responses_api_has_its_own_parts() -> None:
    body = responses_body(asked(), first_dialect(OPENAI, "gpt-5-mini", ApiOptions(api="responses")))
    for item in body["input"]:
        INPUT_ITEM.validate_python(item)
    first, second = user_contents(body["input"])
    assert [part["type"] for part in first][1::2] == ["input_image", "input_image"]
    assert bytes_of(second[0]["file_data"]) == PDF


def test_the_messages_api_has_blocks_and_reads_documents() -> None:
    body = anthropic_body(asked("claude-sonnet-4-5"), RequestOptions(), lambda payload, before: True)
    assert violations(body) == []
    first, second = user_contents(body["messages"])
    assert [block["type"] for block in first] == ["text", "image", "text", "image", "text"]
    assert b64decode(first[1]["source"]["data"], validate=True) == PNG
    assert second[0]["type"] == "document"
    assert b64decode(second[0]["source"]["data"], validate=True) == PDF
    assert ["cache_control" in block for block in second] == [False, True]


def test_gemini_gets_pictures_and_the_text_of_a_document_by_page_in_a_fence() -> None:
    body = request_body(asked("gemini-2.5-pro"), first_dialect(GEMINI, "gemini-2.5-pro"))
    first, second = user_contents(body["messages"])
    assert [part["type"] for part in first] == ["text", "image_url", "text", "image_url", "text"]
    assert isinstance(second, str)
    assert "[Page 1]\nThe lamp" in second
    assert "[Page 2]\nTwo." in second
    assert second.count("</attachment>") == 1  # a document cannot end its fence
    assert second.endswith("And this?")


def test_a_model_that_cannot_see_gets_names_types_and_sizes_as_plain_text() -> None:
    blind = first_dialect(OPENAI, "gpt-4.1", ApiOptions(sees={"gpt-4.1": False}))
    first = user_contents(request_body(asked(), blind)["messages"])[0]
    assert first.startswith("[Attached: sign.webp (image/webp, 40 × 20, 9.0 kB)]")
    assert first.endswith("What is this?")


def test_a_lost_content_becomes_a_note() -> None:
    request = ModelRequest(model="gpt-4.1", system_prompt="", messages=HISTORY)
    first = user_contents(request_body(request, first_dialect(OPENAI, "gpt-4.1"))["messages"])[0]
    assert isinstance(first, str)
    assert in_words(SIGN) in first


def test_models_with_calls_in_text_and_without_a_system_role_see_pictures_too() -> None:
    dialect = Dialect(tool_calls="text", system_role=False)
    (first, *_) = user_contents(request_body(asked("gemma-3"), dialect)["messages"])
    assert [part["type"] for part in first] == ["text", "text", "image_url", "text", "image_url", "text"]


def test_chat_completions_have_what_tools_show_after_all_results_of_the_round() -> None:
    messages = request_body(asked(messages=WITH_TOOLS), first_dialect(OPENAI, "gpt-4.1"))["messages"]
    roles = [message["role"] for message in messages[1:]]
    assert roles == ["user", "assistant", "tool", "tool", "user", "assistant", "user"]
    assert [message["content"] for message in messages[3:5]] == ["Drawn.", "paper.pdf"]
    CHAT_USER.validate_python(messages[5])
    kinds = [part["type"] for part in messages[5]["content"]]
    assert kinds == ["text", "text", "image_url", "file", "text"]
    assert bytes_of(messages[5]["content"][2]["image_url"]["url"]) == PNG


def test_the_last_round_of_chat_completions_ends_with_what_it_shows() -> None:
    messages = request_body(asked(messages=WITH_TOOLS[:4]), first_dialect(OPENAI, "gpt-4.1"))["messages"]
    assert [part["type"] for part in messages[-1]["content"]] == ["text", "text", "image_url", "file"]


def test_the_responses_api_has_it_in_the_output_of_the_call() -> None:
    dialect = first_dialect(OPENAI, "gpt-5-mini", ApiOptions(api="responses"))
    items = responses_body(asked(messages=WITH_TOOLS), dialect)["input"]
    for item in items:
        INPUT_ITEM.validate_python(item)
    first, second = [item["output"] for item in items if item["type"] == "function_call_output"]
    assert [part["type"] for part in first] == ["input_text", "input_text", "input_image"]
    assert [part["type"] for part in second] == ["input_text", "input_file"]


def test_the_messages_api_has_it_in_the_result_which_is_no_error_then() -> None:
    request = asked("claude-sonnet-4-5", WITH_TOOLS)
    tools = (
        ToolSpec("plot", "Draws.", {"type": "object"}),
        ToolSpec("read_file", "Reads.", {"type": "object"}),
    )
    body = anthropic_body(replace(request, tools=tools), RequestOptions(), lambda payload, before: True)
    assert violations(body) == []
    first, second, *_ = body["messages"][2]["content"]
    assert [block["type"] for block in first["content"]] == ["text", "text", "image"]
    assert "is_error" not in first
    assert [block["type"] for block in second["content"]] == ["text", "document"]
    blind = RequestOptions(takes=Takes(pictures=False))
    body = anthropic_body(replace(request, tools=tools), blind, lambda payload, before: True)
    first, second, *_ = body["messages"][2]["content"]
    assert first["content"].startswith("Drawn.\n\n[Attached: sign.webp (image/webp")
    assert first["is_error"]
    assert "[Page 2]\nTwo." in second["content"]


def test_models_with_calls_in_text_see_what_tools_show() -> None:
    messages = request_body(asked(messages=WITH_TOOLS), Dialect(tool_calls="text"))["messages"]
    said = [part["text"] if part["type"] == "text" else part["type"] for part in messages[3]["content"]]
    assert said[:4] == ["[Tool Result: plot]", "Drawn.", "sign.webp:", "image_url"]


def test_gemini_has_the_text_of_a_document_in_the_result() -> None:
    messages = request_body(asked(messages=WITH_TOOLS), first_dialect(GEMINI, "gemini-2.5-pro"))["messages"]
    shown = messages[5]["content"]
    assert [part["type"] for part in shown] == ["text", "text", "image_url", "text"]


@pytest.mark.parametrize("history", [HISTORY, WITH_TOOLS], ids=["user", "tools"])
@pytest.mark.parametrize("api", ["chat", "responses", "anthropic"])
def test_a_longer_history_begins_with_the_shorter_one_byte_for_byte(
    api: str, history: tuple[Message, ...]
) -> None:
    def messages(upto: int) -> list[Any]:
        request = asked(messages=history[:upto])
        if api == "anthropic":
            plain = RequestOptions(marks=None)
            return list(anthropic_body(request, plain, lambda payload, before: True)["messages"])
        dialect = first_dialect(
            OPENAI, "gpt-4.1", ApiOptions(api="responses" if api == "responses" else "chat")
        )
        return list(
            responses_body(request, dialect)["input"]
            if api == "responses"
            else request_body(request, dialect)["messages"]
        )

    short, whole = messages(len(history) - 2), messages(len(history))
    assert json.dumps(whole).startswith(json.dumps(short)[:-1])


def test_the_cache_mark_of_a_message_is_on_its_last_part() -> None:
    messages = request_body(asked(), first_dialect(OPENAI, "gpt-4.1"))["messages"]
    marked = user_contents(mark_for_caching(messages, ttl="5m", tools=False))
    assert ["cache_control" in part for part in marked[0]] == [False, False, False, False, True]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "Failed to deserialize: unknown variant `image_url`, expected `text`"),
        (404, "No endpoints found that support image input"),
        (500, "image input is not supported - hint: if this is unexpected, provide the mmproj"),
        (400, "some-model is not a multimodal model"),
        (400, "Model does not support images. Please use a model that does."),
        (400, "messages[1].content must be a string"),
        (400, "At most 0 image(s) may be provided in one prompt."),
    ],
)
def test_a_refused_picture_is_learned(status: int, said: str) -> None:
    dialect = first_dialect("http://127.0.0.1:8080/v1", "some-model")
    changed = adapt(dialect, status, said)
    assert changed is not None
    assert not changed.takes.pictures
    assert refused_features(dialect, changed) == ["pictures"]
    assert chat_without(dialect, {"pictures": said}, ApiOptions()) == changed


@pytest.mark.parametrize(
    "said", ["Invalid image data.", "image exceeds 5 MB maximum", "Unsupported image type: image/tiff"]
)
def test_a_refusal_about_one_picture_teaches_nothing(said: str) -> None:
    changed = adapt(first_dialect(OPENAI, "gpt-4.1"), 400, said)
    assert changed is None or changed.takes.pictures


def test_a_compatible_endpoint_of_the_messages_api_may_be_blind() -> None:
    options = RequestOptions()
    changed = without(options, "This model does not support image input")
    assert changed is not None
    assert changed.takes == Takes(pictures=False, files=True)
    assert without_features(options, ["pictures"]).takes == changed.takes


def test_estimates_contain_attachments() -> None:
    plain = tuple(
        UserMessage(message.content) if isinstance(message, UserMessage) else message for message in HISTORY
    )
    more = estimated_tokens(asked()) - estimated_tokens(asked(messages=plain))
    assert more == attachment_tokens((SIGN, PHOTO, PAPER))


def test_estimates_contain_what_tools_show() -> None:
    plain = tuple(
        replace(message, attachments=()) if isinstance(message, ToolMessage) else message
        for message in WITH_TOOLS
    )
    more = estimated_tokens(asked(messages=WITH_TOOLS)) - estimated_tokens(asked(messages=plain))
    assert more == attachment_tokens((SIGN, PAPER))


@pytest.mark.parametrize(
    ("size", "least"), [((1_568, 1_568), 3_136), ((1_024, 1_024), 1_369), ((40, 20), 258)]
)
def test_a_picture_counts_what_the_dearest_provider_counts(size: tuple[int, int], least: int) -> None:
    assert picture_tokens(*size) == least
