"""Prompts of servers: what is known of them, what they take, and what they say."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.mcp.events import McpPrompt, McpPromptArgument
from hermes_jobs.features.mcp.prompts import parse_arguments, prompts_of, text_of, usage

ISSUES = McpPrompt(
    name="issues",
    arguments=(
        McpPromptArgument(name="repo", description="which repository", required=True),
        McpPromptArgument(name="state"),
    ),
)
ASK = McpPrompt(name="ask", arguments=(McpPromptArgument(name="question", required=True),))


def arguments(prompt: McpPrompt, rest: str) -> dict[str, str]:
    return parse_arguments(prompt, rest, shlex.split(rest))


def test_prompts_are_sorted_and_cleaned_and_untypable_names_are_left_out() -> None:
    offered: list[Any] = [
        {
            "name": "b",
            "description": "Two\n\x1b[31mlines\x1b[0m.",
            "arguments": [{"name": "x", "required": True}, 3],
        },
        {"name": "a", "title": "One", "arguments": "none"},
        {"name": "two words"},
        {"description": "nameless"},
        "nothing",
    ]
    assert prompts_of(offered) == (
        McpPrompt(name="a", description="One"),
        McpPrompt(
            name="b", description="Two lines.", arguments=(McpPromptArgument(name="x", required=True),)
        ),
    )
    assert prompts_of({"a": 1}) == ()


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("me/it", {"repo": "me/it"}),
        ("me/it open", {"repo": "me/it", "state": "open"}),
        ("state=open me/it", {"repo": "me/it", "state": "open"}),
        ("repo='me it'", {"repo": "me it"}),
        ("a=b", {"repo": "a=b"}),
    ],
)
def test_arguments_are_given_by_name_or_in_their_order(typed: str, found: dict[str, str]) -> None:
    assert arguments(ISSUES, typed) == found


def test_the_only_argument_gets_all_that_was_typed() -> None:
    assert arguments(ASK, "how  are you?") == {"question": "how  are you?"}
    assert arguments(ASK, "question='how are you?'") == {"question": "how are you?"}


@pytest.mark.parametrize(
    ("prompt", "typed", "message", "hint"),
    [
        (ISSUES, "", "issues: repo is missing.", "It needs repo (which repository): "),
        (ISSUES, "state=open", "issues: repo is missing.", "It needs repo (which repository): "),
        (ISSUES, "a b c", "issues: there are too many words.", "Quote what has blanks: "),
        (McpPrompt(name="plain"), "now", "plain: there are too many words.", "It takes nothing."),
    ],
)
def test_wrong_arguments_are_refused_with_the_usage(
    prompt: McpPrompt, typed: str, message: str, hint: str
) -> None:
    with pytest.raises(Rejected) as refused:
        arguments(prompt, typed)
    assert refused.value.message == message
    assert hint in refused.value.hint


def test_the_usage_marks_optional_arguments() -> None:
    assert usage(ISSUES) == "REPO [STATE]"


def test_its_messages_are_one_text() -> None:
    def said(role: str, **content: Any) -> dict[str, Any]:
        return {"role": role, "content": content}

    resource = {"uri": "note://tea", "text": "Boil water."}
    messages = [
        said("user", type="text", text=" Sum it up. "),
        said("assistant", type="text", text="Gladly."),
        said("user", type="resource", resource=resource),
        said("user", type="image", data="aaaa", mimeType="image/png"),
        said("user", type="text"),
        "nothing",
    ]
    assert text_of({"messages": messages}) == (
        "Sum it up.\n\n(Assistant:) Gladly.\n\n[note://tea]\nBoil water.\n\n[image that is not text]"
    )
    assert text_of({}) == ""
