"""What a model is asked for a title, and which title its reply becomes."""

from __future__ import annotations

import pytest

from hermes_jobs.features.titles.steps import LONGEST, title_of
from hermes_jobs.features.titles.titles import (
    ANSWER_CHARACTERS,
    PROMPT_CHARACTERS,
    TITLE_PROMPT,
    title_request,
)
from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from hermes_jobs.kernel.turns.session import Session


@pytest.mark.parametrize(
    ("reply", "title"),
    [
        ("Tidying the build folder", "Tidying the build folder"),
        ('**Title:** "Tidying the build folder".', "Tidying the build folder"),
        ("# Une semaine à Rome", "Une semaine à Rome"),
        ("\n\n「ファイルの整理」\nand more", "ファイルの整理"),
        ("Titel: Brief an Frau Müller", "Brief an Frau Müller"),
        ("標題：日本", "標題：日本"),
        ("标题：整理文件", "整理文件"),
        ("Daily log #2", "Daily log"),
        ("a\x1b[31mb\u202ec", "abc"),
        ("", ""),
        ('"..."', ""),
    ],
)
def test_the_title_is_the_models_answer_without_decoration(reply: str, title: str) -> None:
    assert title_of(reply) == title


def test_a_long_reply_is_cut_at_a_word() -> None:
    title = title_of("words and " * 30)
    assert len(title) <= LONGEST
    assert "words and " * 5 in f"{title} "
    assert title.endswith(("words", "and"))
    assert len(title_of("字" * 300)) == LONGEST


def test_the_request_has_the_beginning_of_the_conversation_and_no_tools() -> None:
    session = Session(
        stream="session-s1",
        model="m",
        messages=(
            UserMessage("Why? " * 1000),
            AssistantMessage("", (ToolCall("c1", "terminal", "{}"),)),
            ToolMessage("c1", "terminal", "a secret output"),
            AssistantMessage("Because. " * 1000),
            UserMessage("And then?"),
        ),
    )
    request = title_request(session, None)
    (message,) = request.messages
    assert (request.model, request.system_prompt, request.tools) == ("m", TITLE_PROMPT, ())
    assert title_request(session, "small").model == "small"
    assert "Why? Why?" in message.content
    assert "Because. Because." in message.content
    assert "secret output" not in message.content
    assert "And then?" not in message.content
    assert len(message.content) < PROMPT_CHARACTERS + ANSWER_CHARACTERS + 100
