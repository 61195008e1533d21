"""Tool calls in the formats of chat templates: each becomes a call, and no markup is an answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes_jobs.kernel.engine.ports import Reply
from hermes_jobs.llm.reply_builder import ReplyBuilder

SCHEMAS: dict[str, dict[str, Any]] = {
    "terminal": {
        "properties": {
            "command": {"type": "string"},
            "timeout": {"type": "integer"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "deep": {"$ref": "#/$defs/deep"},
            "ratio": {"type": ["number", "null"]},
            "loud": {"type": "boolean"},
        },
        "$defs": {"deep": {"type": "array"}},
    },
    "read_file": {"properties": {"path": {"type": "string"}}},
}
RUN = '{"command": "echo 1"}'
READ = '{"path": "a"}'
ECHO = ("terminal", {"command": "echo 1"})
FILE = ("read_file", {"path": "a"})
DSML = "｜DSML｜"

# The chat templates of the models, as their makers publish them on Hugging Face.
WRITTEN = {
    "Qwen3-Coder": (
        "<tool_call>\n<function=terminal>\n<parameter=command>\necho 1\n</parameter>\n</function>\n"
        "</tool_call>",
        [ECHO],
    ),
    "Qwen3-Coder without the outer tag": (
        "<function=terminal>\n<parameter=command>\necho 1\n</parameter>\n</function>",
        [ECHO],
    ),
    "Qwen3-Coder without the opening tag": (
        "<function=terminal>\n<parameter=command>\necho 1\n</parameter>\n</function>\n</tool_call>",
        [ECHO],
    ),
    "Seed": (
        "<seed:tool_call>\n<function=terminal>\n<parameter=command>echo 1</parameter>\n</function>\n"
        "</seed:tool_call>",
        [ECHO],
    ),
    "invoke": ('<invoke name="terminal">\n<parameter name="command">echo 1</parameter>\n</invoke>', [ECHO]),
    "two of function_calls": (
        '<function_calls>\n<invoke name="terminal">\n<parameter name="command">echo 1</parameter>\n</invoke>'
        '\n<invoke name="read_file">\n<parameter name="path">a</parameter>\n</invoke>\n</function_calls>',
        [ECHO, FILE],
    ),
    "MiniMax": (
        '<minimax:tool_call>\n<invoke name="terminal">\n<parameter name="command">echo 1</parameter>\n'
        "</invoke>\n</minimax:tool_call>",
        [ECHO],
    ),
    "gpt-oss": (
        "<|channel|>analysis<|message|>Need it.<|end|><|start|>assistant<|channel|>commentary "
        f"to=functions.terminal <|constrain|>json<|message|>{RUN}<|call|>",
        [ECHO],
    ),
    "gpt-oss with the recipient first": (
        f"<|start|>assistant to=functions.terminal<|channel|>commentary json<|message|>{RUN}",
        [ECHO],
    ),
    "Mistral's list": (
        f'[TOOL_CALLS] [{{"name": "terminal", "arguments": {RUN}, "id": "abcdefghi"}}]',
        [ECHO],
    ),
    "Mistral": (f"[TOOL_CALLS]terminal[ARGS]{RUN}[TOOL_CALLS]read_file[ARGS]{READ}</s>", [ECHO, FILE]),
    "Mistral with ids": (f"[TOOL_CALLS]terminal[CALL_ID]abcdefghi[ARGS]{RUN}", [ECHO]),
    "Devstral": (f"[TOOL_CALLS]terminal{RUN}", [ECHO]),
    "GLM 4.5": (
        "<tool_call>terminal\n<arg_key>command</arg_key>\n<arg_value>echo 1</arg_value>\n</tool_call>",
        [ECHO],
    ),
    "GLM 4.7": (
        "<tool_call>terminal<arg_key>command</arg_key><arg_value>echo 1</arg_value></tool_call>"
        "<tool_call>read_file<arg_key>path</arg_key><arg_value>a</arg_value></tool_call>",
        [ECHO, FILE],
    ),
    "Kimi K2": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.terminal:0<|tool_call_argument_begin|>"
        f"{RUN}<|tool_call_end|><|tool_call_begin|>functions.read_file:1<|tool_call_argument_begin|>{READ}"
        "<|tool_call_end|><|tool_calls_section_end|>",
        [ECHO, FILE],
    ),
    "Granite": (f'<|tool_call|>[{{"name": "terminal", "arguments": {RUN}}}]', [ECHO]),
    "Phi-4-mini": (f'<|tool_call|>[{{"name": "terminal", "arguments": {RUN}}}]<|/tool_call|>', [ECHO]),
    "Phi-4": (f'functools[{{"name": "terminal", "arguments": {RUN}}}]', [ECHO]),
    "Nemotron": (
        f'<TOOLCALL>[{{"name": "terminal", "arguments": {RUN}}}, {{"name": "read_file", "arguments": {READ}}}'
        "]</TOOLCALL>",
        [ECHO, FILE],
    ),
    "DeepSeek V3": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>terminal\n"
        f"```json\n{RUN}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n"
        f"```json\n{READ}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        [ECHO, FILE],
    ),
    "DeepSeek V3.1": (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>terminal<｜tool▁sep｜>{RUN}<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜>",
        [ECHO],
    ),
    "DeepSeek V3.2": (
        f'<{DSML}function_calls>\n<{DSML}invoke name="terminal">\n<{DSML}parameter name="command" '
        f'string="true">echo 1</{DSML}parameter>\n'
        f'<{DSML}parameter name="timeout" string="false">5</{DSML}parameter>\n'
        f"</{DSML}invoke>\n</{DSML}function_calls>",
        [("terminal", {"command": "echo 1", "timeout": 5})],
    ),
    "Llama 3.1": (f"<function=terminal>{RUN}</function>", [ECHO]),
    "Llama 3": (f'<|python_tag|>{{"name": "terminal", "parameters": {RUN}}}<|eom_id|>', [ECHO]),
    "Llama 4": (
        '<|python_start|>[terminal(command="echo 1"), read_file(path="a")]<|python_end|>',
        [ECHO, FILE],
    ),
    "LFM2": (
        '<|tool_call_start|>[terminal(command="a ) b] <x>")]<|tool_call_end|>',
        [("terminal", {"command": "a ) b] <x>"})],
    ),
    "Olmo 3": ('<function_calls>\nterminal(command="echo 1")\n</function_calls>', [ECHO]),
    "Command": (
        f'<|START_ACTION|>[\n {{"tool_call_id": "0", "tool_name": "terminal", "parameters": {RUN}}}\n]'
        "<|END_ACTION|>",
        [ECHO],
    ),
    "InternLM": (
        f'<|action_start|><|plugin|>{{"name": "terminal", "parameters": {RUN}}}<|action_end|>',
        [ECHO],
    ),
    "Gemma 4": ('<|tool_call>call:terminal{command:<|"|>echo 1<|"|>}<tool_call|>', [ECHO]),
    "FunctionGemma": (
        "<start_function_call>call:terminal{command:<escape>echo 1<escape>}<end_function_call>",
        [ECHO],
    ),
    "LongCat": (
        "<longcat_tool_call>terminal\n<longcat_arg_key>command</longcat_arg_key>\n"
        "<longcat_arg_value>echo 1</longcat_arg_value>\n</longcat_tool_call>",
        [ECHO],
    ),
    "Hunyuan": (f'<tool_calls>[{{"name": "terminal", "arguments": {RUN}}}]</tool_calls>', [ECHO]),
}


def said(text: str, cuts: Iterable[int] = (), *, in_text: bool = False) -> tuple[Reply, str]:
    """The reply of a text that arrives in pieces, and what was shown of it."""
    draft = ReplyBuilder(tool_names=list(SCHEMAS), parameters=SCHEMAS, calls_in_text=in_text)
    shown, start = "", 0
    for end in [*sorted(cut for cut in cuts if cut < len(text)), len(text)]:
        shown += draft.say(text[start:end])
        start = end
    reply, last = draft.finish()
    return reply, shown + last


def calls_of(reply: Reply) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in reply.tool_calls]


def is_run(reply: Reply) -> bool:
    """Whether any call has arguments with which a tool could run."""
    for call in reply.tool_calls:
        try:
            json.loads(call.arguments)
        except ValueError:
            continue
        return True
    return False


@pytest.mark.parametrize("in_text", [False, True])
@pytest.mark.parametrize("model", WRITTEN)
def test_a_call_in_the_format_of_a_template_is_a_call_in_pieces_of_any_size(
    model: str, in_text: bool
) -> None:
    written, calls = WRITTEN[model]
    beginnings = ("", "I look.\n", *(() if written[0].isalpha() else ("I look. ",)))
    for before in beginnings:  # a mark that is a word counts at the beginning of a line only
        text = before + written
        for cuts in ((), range(len(text)), range(0, len(text), 7)):
            reply, shown = said(text, cuts, in_text=in_text)
            assert calls_of(reply) == calls
            assert (reply.content.strip(), shown.strip()) == (before.strip(), before.strip())
            assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize("model", [name for name in WRITTEN if name != "Qwen3-Coder without the opening tag"])
def test_a_call_that_is_cut_off_is_never_run(model: str) -> None:
    written, _ = WRITTEN[model]
    ends = written.index("echo 1") if "echo 1" in written else written.index("a ) b]")
    for length in range(1, ends + 4):
        reply, shown = said(written[:length])
        assert not is_run(reply), length
        if length > 30 and reply.tool_calls:
            assert shown == ""


@pytest.mark.parametrize("model", [name for name in WRITTEN if "gpt-oss" not in name])
def test_a_call_in_code_is_text(model: str) -> None:
    written, _ = WRITTEN[model]
    for text in (f"So:\n```xml\n{written}\n```", f"~~~\n{written}\n~~~\nThat is it.", f"So: `{written}`"):
        reply, shown = said(text)
        assert (reply.content, reply.tool_calls) == (text, ())
        assert shown == text


def test_marks_of_gpt_oss_in_code_are_text() -> None:
    text = "So:\n```\n<|start|>assistant<|channel|>final<|message|>Hi<|return|>\n```\nor `<|channel|>`."
    assert said(text, range(len(text)))[0].content == text


def test_a_call_after_which_the_model_goes_on_is_told_and_not_run() -> None:
    written, _ = WRITTEN["invoke"]
    reply, shown = said(f"I look.\n{written}\nThen I tell you.")
    assert (reply.content, shown.strip(), is_run(reply)) == ("I look.", "I look.", False)
    assert [call.name for call in reply.tool_calls] == ["terminal"]
    assert "text follows" in reply.tool_calls[0].arguments


def test_an_invented_result_ends_the_call_before_it() -> None:
    qwen, _ = WRITTEN["Qwen3-Coder"]
    reply, _ = said(f"{qwen}\n<tool_response>\n1\n</tool_response>\nIt is 1.")
    assert (calls_of(reply), reply.content) == ([ECHO], "")
    harmony, _ = WRITTEN["gpt-oss"]
    reply, shown = said(
        f"{harmony}<|start|>functions.terminal to=assistant<|channel|>commentary<|message|>1<|end|>"
        "<|start|>assistant<|channel|>final<|message|>It is 1."
    )
    assert (calls_of(reply), reply.content, shown) == ([ECHO], "", "")


def test_channels_are_reasoning_and_answer() -> None:
    text = (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>"
    )
    for cuts in ((), range(len(text))):
        reply, shown = said(text, cuts)
        assert (reply.content, reply.reasoning, shown) == ("Yes.", "Hm.", "Yes.")


def test_a_tool_that_is_not_offered_is_called_so_that_the_model_is_told() -> None:
    reply, _ = said('<invoke name="search"><parameter name="q">x</parameter></invoke>')
    assert calls_of(reply) == [("search", {"q": "x"})]


def test_a_call_inside_of_reasoning_without_an_answer_is_a_call() -> None:
    written, calls = WRITTEN["Kimi K2"]
    reply, shown = said(f"<think>I have to look. {written}")
    assert (calls_of(reply), shown) == (calls, "")


def test_a_mention_does_not_hide_a_call() -> None:
    written, calls = WRITTEN["GLM 4.5"]
    reply, _ = said(f"Models write <tool_call> or [TOOL_CALLS] here.\n{written}")
    assert calls_of(reply) == calls
    assert reply.content == "Models write <tool_call> or [TOOL_CALLS] here."


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("command", "007", "007"),
        ("command", "null", "null"),
        ("command", '{"a": 1}', '{"a": 1}'),
        ("command", "a\n</parameter>\nb", "a\n</parameter>\nb"),
        ("command", "line\n", "line\n"),
        ("timeout", "5", 5),
        ("timeout", "5.0", 5),
        ("timeout", "soon", "soon"),
        ("note", "null", None),
        ("note", "5", "5"),
        ("deep", '["a", 1]', ["a", 1]),
        ("ratio", "0.5", 0.5),
        ("ratio", "NaN", "NaN"),
        ("ratio", "None", None),
        ("loud", "True", True),
        ("loud", "false", False),
        ("other", "5", "5"),
    ],
)
def test_values_are_of_the_types_that_the_schema_names(key: str, text: str, value: object) -> None:
    written = f"<function=terminal>\n<parameter={key}>\n{text}\n</parameter>\n</function>"
    assert calls_of(said(written)[0]) == [("terminal", {key: value})]


def test_a_value_whose_end_is_missing_is_not_taken_for_two() -> None:
    written = "<function=terminal>\n<parameter=command>\nrm x\n<parameter=note>\ny\n</parameter>\n</function>"
    reply, _ = said(written)
    assert [call.name for call in reply.tool_calls] == ["terminal"]
    assert not is_run(reply)


def test_nested_and_long_markup_ends_soon() -> None:
    for text in (
        "<tool_call>" * 20_000,
        '<tool_call>{"name": "terminal", "arguments": ' + "[" * 50_000,
        "<|tool_call_start|>[terminal(command=" + "(" * 50_000,
        "[TOOL_CALLS]" * 20_000,
        "<function=terminal>" * 10_000,
        "<function=terminal><parameter=command>" + "</parameter> " * 20_000,
        "<|channel|>" * 20_000,
        "`<|channel|>" * 5_000,
        "<|python_tag|>" + "terminal(command='" * 5_000,
    ):
        assert not is_run(said(text)[0])


MARKUP = st.sampled_from(
    [
        *(written for written, _ in WRITTEN.values()),
        "Text. ",
        "\n",
        "```",
        "`",
        "<",
        "[",
        "x",
        "</think>",
        "<think>",
    ]
)


@example("`" + next(iter(WRITTEN.values()))[0], [4], False)
@given(st.lists(MARKUP, max_size=5).map("".join), st.lists(st.integers(0, 600), max_size=8), st.booleans())
def test_the_pieces_make_no_difference(text: str, cuts: list[int], in_text: bool) -> None:
    (whole, _), (cut, _) = said(text, in_text=in_text), said(text, cuts, in_text=in_text)
    assert (cut.content, cut.tool_calls, cut.reasoning) == (whole.content, whole.tool_calls, whole.reasoning)
