"""What models write in the place of calls, and what only looks like it."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel.engine.ports import Reply
from hermes_jobs.llm.reasoning_filter import end_of_unopened
from hermes_jobs.llm.reply_builder import ReplyBuilder

OFFERED = ("terminal", "read_file")
LS = '{"name": "terminal", "arguments": {"command": "ls"}}'
READ = '{"name": "read_file", "parameters": {"path": "a.txt"}}'
TAGGED = f"<tool_call>\n{LS}\n</tool_call>"
Form = Literal["structured", "text"]


def said(text: str, form: Form = "structured", *, cuts: tuple[int, ...] = (), native: int = 0) -> Reply:
    """The reply of a text that arrives in pieces."""
    draft = ReplyBuilder(calls_in_text=form == "text", tool_names=OFFERED)
    for number in range(native):
        draft.calls.feed(
            [{"index": number, "id": f"n{number}", "function": json.loads(LS) | {"arguments": "{}"}}]
        )
    ends = [*sorted(cut for cut in cuts if cut < len(text)), len(text)]
    for start, end in zip([0, *ends], ends, strict=False):
        draft.say(text[start:end])
    return draft.finish()[0]


def calls_of(reply: Reply) -> list[str]:
    return [call.name for call in reply.tool_calls]


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        (TAGGED, "", ["terminal"]),
        (f"I look.\n\n{TAGGED}\n", "I look.", ["terminal"]),
        (f"{TAGGED}\n{TAGGED}", "", ["terminal", "terminal"]),
        (f"<tool_call>\n```json\n{LS}\n```\n</tool_call>", "", ["terminal"]),
        (f"<tool_call>[{LS}, {READ}]</tool_call>", "", ["terminal", "read_file"]),
        (f"<tool_call>\n- {LS}\n- {READ}\n</tool_call>", "", ["terminal", "read_file"]),
        (LS, "", ["terminal"]),
        (f"\n{READ}\n", "", ["read_file"]),
        (f"<|python_tag|>{READ}<|eom_id|>", "", ["read_file"]),
        (f"{LS}; {READ}", "", ["terminal", "read_file"]),
        (f"[{LS}, {READ}]", "", ["terminal", "read_file"]),
        ('{"type": "function", "function": ' + READ + "}", "", ["read_file"]),
        (f"{TAGGED}\n[Tool Result: terminal]\na.txt\n\nThere is a file.", "", ["terminal"]),
        ("Done.\n[Tool Result: terminal]\nok\nAll fine.", "Done.\n", []),
        ("Thinking about it.\n</think>\n\nThe answer.", "The answer.", []),
        ("reasoning…</think>answer", "answer", []),
        (f"First I look.</think>{TAGGED}", "", ["terminal"]),
    ],
)
def test_calls_are_read_in_pieces_of_any_size(text: str, content: str, calls: list[str]) -> None:
    for cuts in ((), tuple(range(len(text))), tuple(range(0, len(text), 7))):
        reply = said(text, cuts=cuts)
        assert (reply.content, calls_of(reply)) == (content, calls)


@pytest.mark.parametrize(
    "text",
    [
        f"Hermes models write {TAGGED} and the server reads it.",
        f"They write:\n{TAGGED}\nand the server reads that.",
        f"They write:\n```\n{TAGGED}\n```",
        f"They write:\n~~~xml\n{TAGGED}",
        f"In one line: `{TAGGED}`",
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>',
        "<tool_call> is a tag.",
        '{"name": "Ada", "arguments": {}}',
        '{"name": "terminal", "arguments": {}, "comment": "as data"}',
        '{"name": "terminal"}',
        '{"answer": 42}',
        f"Here it is: {LS}",
        f"{LS}\nThat was an example.",
        "[Tool Result: weather]\nis how results look.",
        "Use `[Tool Result: terminal]` as the heading.",
        "```\n[Tool Result: terminal]\n```",
        "[1] a footnote",
        "<b>bold</b>",
        "",
        "{",
        "<tool_call>",
    ],
)
def test_mentions_stay_text_in_pieces_of_any_size(text: str) -> None:
    for cuts in ((), tuple(range(len(text)))):
        reply = said(text, cuts=cuts)
        assert (reply.content, calls_of(reply)) == (text, [])


@pytest.mark.parametrize(
    "text",
    ["Models end it with the </think> tag.", "Write `</think>` to end it.", "Then </think>. So it ends, yes"],
)
def test_a_closing_tag_that_is_spoken_of_ends_nothing(text: str) -> None:
    assert end_of_unopened(text) is None
    assert "".join(said(text).content.split()) == "".join(text.replace("</think>", "").split()) or "`" in text


def test_a_model_that_writes_its_calls_is_read_in_llamas_form_too() -> None:
    reply = said(READ, "text")
    assert (reply.content, calls_of(reply)) == ("", ["read_file"])


def test_invented_results_are_no_answer() -> None:
    reply = said(f"Let me see.\n{TAGGED}\n\n[Tool Result: terminal]\na.txt\n\nThere is a.txt.", "text")
    assert (reply.content.strip(), calls_of(reply)) == ("Let me see.", ["terminal"])


def test_a_call_that_is_made_and_written_too_is_made_once() -> None:
    reply = said(f"I look.\n{TAGGED}", native=1)
    assert (reply.content, calls_of(reply)) == ("I look.\n", ["terminal"])


PIECES = st.sampled_from(
    [TAGGED, LS, READ, "Text. ", "\n", "```", "</think>", "[Tool Result: terminal]", "<", "{", "x"]
)


@given(
    st.lists(PIECES, max_size=6).map("".join),
    st.lists(st.integers(0, 300), max_size=8),
    st.sampled_from(["structured", "text"]),
)
def test_the_pieces_make_no_difference(text: str, cuts: list[int], form: Form) -> None:
    whole, cut = said(text, form), said(text, form, cuts=tuple(cuts))
    assert (cut.content, cut.tool_calls, cut.reasoning) == (whole.content, whole.tool_calls, whole.reasoning)
