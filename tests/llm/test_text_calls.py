from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolCall
from hermes_jobs.llm.text_calls import TextCallFilter, text_messages
from hermes_jobs.llm.written_calls import UNNAMED, WrittenCall

Calls = list[tuple[str, str]]


def told_apart(*pieces: str) -> tuple[str, Calls]:
    told = TextCallFilter()
    shown = "".join([*(told.feed(piece) for piece in pieces), told.finish()])
    return shown, [(call.name, call.arguments) for call in told.calls]


LS = '{"name": "terminal", "arguments": {"command": "ls"}}'
LS_CALL = ("terminal", '{"command": "ls"}')
FORMS = [
    f"<tool_call>{LS}</tool_call>",
    f"<tool_call>\n{LS}\n</tool_call>",
    f"<tool_call>{LS}",
    '<tool_call>{"name": "terminal", "parameters": {"command": "ls"}}</tool_call>',
    """<tool_call>{"name": "terminal", "arguments": "{\\"command\\": \\"ls\\"}"}</tool_call>""",
    'call:terminal{"command": "ls"}',
    'call:terminal{command: "ls"}',
    'call:terminal{command:<|"|>ls<|"|>}',
    f"```json\n{LS}\n```",
    f"```JSON {LS}```",
]


@pytest.mark.parametrize("written", FORMS)
def test_every_form_of_a_call_is_read(written: str) -> None:
    assert told_apart(written) == ("", [LS_CALL])


@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("second", FORMS)
def test_several_calls_are_separated_from_the_text_around_them(first: str, second: str) -> None:
    if first == f"<tool_call>{LS}":
        first += "</tool_call>"
    shown, calls = told_apart(f"I look.\n\n{first}\nAnd again.\n{second}\n")
    assert shown == "I look.\n\nAnd again."
    assert calls == [LS_CALL, LS_CALL]


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        (
            '<tool_call>{"name": "w", "arguments": {"a": {"b": [{}]}, "c": "}}"}}</tool_call>',
            '{"a": {"b": [{}]}, "c": "}}"}',
        ),
        (
            '<tool_call>{"name": "w", "arguments": {"text": "</tool_call> \\" {"}}</tool_call>',
            '{"text": "</tool_call> \\" {"}',
        ),
        ('<tool_call>{"name": "w", "arguments": {"text": "a\nb"}}</tool_call>', '{"text": "a\\nb"}'),
        ('<tool_call>{"name": "w"}</tool_call>', "{}"),
        ('<tool_call>{"name": "w", "arguments": null}</tool_call>', "{}"),
        ('call:w{a: {b: 1}, "c": "x, y: z", d: [true]}', '{"a": {"b": 1}, "c": "x, y: z", "d": [true]}'),
        ("call:w{}", "{}"),
    ],
)
def test_nested_braces_and_marks_inside_of_strings_are_read(written: str, arguments: str) -> None:
    assert told_apart(written) == ("", [("w", arguments)])
    assert told_apart(*written) == ("", [("w", arguments)])


@pytest.mark.parametrize(
    ("written", "calls"),
    [
        ('<tool_call>{"name": "ls", "arguments": {"a": }}</tool_call>', 1),
        ('<tool_call>{"name": "ls", "arguments": {"a": 1}</tool_call>', 1),
        ('<tool_call>{"name": "ls", "arguments": {"a": "x}}</tool_call>', 1),
        ('<tool_call>{"name": "ls", "arguments": {"a": "x', 1),
        ("<tool_call>{'name': 'ls'}</tool_call>", 1),
        ("<tool_call>ls -la</tool_call>", 1),
        ("<tool_call></tool_call>", 1),
        ('<tool_call>{"arguments": {}}</tool_call>', 1),
        (f"<tool_call>broken {{</tool_call>\n<tool_call>{LS}</tool_call>", 2),
        (f"<tool_call>broken <tool_call>{LS}</tool_call>", 2),
        ("call:ls{a: b}", 1),
        ('call:ls{"a": "never closed', 1),
        ('```json\n{"name": "ls", "arguments": {"a": }}\n```', 1),
        ('```json\n{"name": "ls", "arguments": {"a": 1}\n```', 1),
    ],
)
def test_broken_json_is_a_call_with_broken_arguments(written: str, calls: int) -> None:
    shown, found = told_apart(f"Before.\n{written}")
    assert shown == "Before."
    assert len(found) == calls
    name, arguments = found[0]
    assert name in {"ls", UNNAMED}
    assert not arguments.startswith('{"a"') or name == "ls"
    assert WrittenCall(name, arguments) != WrittenCall("ls", "{}")


@pytest.mark.parametrize(
    "text",
    [
        "Write `<tool_call>` and then `</tool_call>`.",
        "Write `call:NAME{…}`, or recall:x{1}.",
        "call: me later, call:mum",
        '```json\n{"name": "Anna", "age": 5}\n```\n',
        '```json\n[{"name": "ls", "arguments": {}}]\n```',
        '```json\n{"name": "ls", "arguments": {}}\n{}\n```',
        "```json\n{never closed",
        '```python\n{"name": "ls", "arguments": {}}\n```',
        "a < b, <tool, ``` and `` and ca",
        "  spaces stay  \n",
        "",
    ],
)
def test_text_without_calls_is_unchanged(text: str) -> None:
    assert told_apart(text) == (text, [])
    assert told_apart(*text) == (text, [])


def test_nothing_of_a_call_is_shown_while_it_arrives() -> None:
    told = TextCallFilter()
    shown = [told.feed(piece) for piece in f"One. <tool_call>{LS}</tool_call> Two. call:ls{{}} Three."]
    assert "".join([*shown, told.finish()]) == "One. Two. Three."
    assert shown[:4] == list("One.")


fragments = st.sampled_from(
    [
        "<tool_call>",
        "</tool_call>",
        "<tool",
        "_call>",
        "call:",
        "call:ls",
        "{",
        "}",
        '"',
        "\\",
        '{"name": "ls", ',
        '"arguments": {}}',
        "```json",
        "```",
        "`",
        "\n",
        " ",
        "a",
        "é",
        LS,
    ]
)
texts = st.lists(fragments, max_size=14).map("".join)


@given(texts, st.data())
def test_the_result_does_not_depend_on_how_the_text_was_cut(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]
    assert told_apart(*pieces) == told_apart(text) == told_apart(*text)


@given(st.text())
def test_a_text_without_marks_stays_as_it_is(text: str) -> None:
    text = text.replace("<", "").replace("call:", "").replace("```", "")
    assert told_apart(text) == (text, [])


names = st.text("abcz_-09", min_size=1, max_size=10)


@given(st.lists(st.tuples(names, st.text(max_size=20)), max_size=3))
def test_calls_as_rendered_in_the_history_are_read_back(calls: Calls) -> None:
    asked = tuple(
        ToolCall("x", name, f'{{"a":  {len(text)}}}' if len(text) % 2 else text) for name, text in calls
    )
    rendered = text_messages("", [AssistantMessage("Look.", asked)])[-1]["content"]
    shown, found = told_apart(rendered)
    again = text_messages("", [AssistantMessage(shown, tuple(ToolCall("x", *each) for each in found))])
    assert shown == "Look."
    assert told_apart(again[-1]["content"]) == (shown, found)
    assert [name for name, _ in found] == [name for name, _ in calls]
