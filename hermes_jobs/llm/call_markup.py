"""Markup of tool calls: one row per format that models write into their text, by their chat templates.

A server without the parser of its model's format passes that markup on as the answer. Each row has the
marks that open a call and the reader of what stands between them; all marks are dropped. A format's values
may be texts without a type: `WrittenCall.is_untyped` says so, and the tool's schema decides (`call_values`).

A cut call is a call with its own markup as arguments, which are no JSON: it is never run. Every reader is
linear in the text. Sources: the chat templates of these models, and the parsers of vLLM
(https://docs.vllm.ai/en/latest/features/tool_calling.html) and llama.cpp
(https://github.com/ggml-org/llama.cpp/blob/master/docs/function-calling.md).
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable

import msgspec

from hermes_jobs.llm.written_calls import (
    NAME_IN,
    UNNAMED,
    Braces,
    ParsedCalls,
    WrittenCall,
    broken,
    decoded,
    encoded,
    named,
    with_bare_keys,
)
from hermes_jobs.text.patterns import compile_later

Reader = Callable[[str, int], ParsedCalls | None]
"""`(text, start)`: the call that begins exactly there; None if there is none."""

_NAME = r"[A-Za-z_][\w.-]{0,63}"


def read_json(text: str, start: int) -> ParsedCalls | None:
    """An object with a name and arguments. The brackets of a list around it are marks."""
    if not text.startswith("{", start):
        return None
    end = Braces(start).end(text)
    if end is None:
        name = NAME_IN.search(text, start)
        return _cut(text, start, name[1] if name else "")
    content = decoded(text[start:end])
    if content is None:
        return ParsedCalls(end, (broken(text[start:end]),))
    inner = content.get("function")
    call = named(inner if isinstance(inner, dict) else content)
    return None if call is None else ParsedCalls(end, (call,))


_NAMED_JSON = compile_later(
    rf"(?:functions\.)?(?P<name>{_NAME}?)(?::\d+)?\s*"
    r"(?:\[CALL_ID\]\s*[\w-]*\s*)?(?:\[ARGS\]|<\|tool_call_argument_begin\|>|<｜tool▁sep｜>)?"
    r"\s*(?:```(?:json)?\s*)?(?=\{)"
)


def read_named_json(text: str, start: int) -> ParsedCalls | None:
    """A name, then its arguments as an object: Mistral, Kimi, DeepSeek."""
    opening = _NAMED_JSON.match(text, start)
    if opening is None:
        return _cut_name(text, start)
    end = Braces(opening.end()).end(text)
    if end is None:
        return _cut(text, start, opening["name"])
    arguments = decoded(text[opening.end() : end])
    body = text[opening.end() : end] if arguments is None else encoded(arguments)
    return ParsedCalls(end, (WrittenCall(opening["name"], body),))


_UNFINISHED_NAME = compile_later(rf"(?:functions\.)?(?P<name>{_NAME})?(?::\d+)?(?:\s*[\[<][^{{]{{0,60}})?\Z")


def _cut_name(text: str, start: int) -> ParsedCalls | None:
    match = _UNFINISHED_NAME.match(text, start)
    return _cut(text, start, match["name"] or "") if match and start < len(text) else None


_FUNCTION = compile_later(rf"<function=\"?(?P<name>{_NAME})\"?\s*>\s*")
_INVOKE = compile_later(rf"<(?:[\w-]+:|｜DSML｜)?invoke\s+name=\"(?P<name>{_NAME})\"\s*>\s*")
_PARAMETER = compile_later(
    r"\s*<(?:[\w-]+:|｜DSML｜)?parameter(?:=\"?(?P<equal>[\w.-]+)\"?|\s+name=\"(?P<name>[^\"<>]+)\")"
    r"(?:\s+string=\"(?P<string>true|false)\")?[^<>]*>"
)
_UNFINISHED_TAG = compile_later(r"<[^<>\n]{0,120}\Z")
_END = compile_later(r"\s*</(?:[\w-]+:|｜DSML｜)?(?:function|invoke)>")
_VALUE_END = compile_later(
    r"</(?:[\w-]+:|｜DSML｜)?parameter>(?=\s*</?(?:[\w-]+:|｜DSML｜)?(?:parameter|function|invoke)\b)"
)
"""The next value, or the call's end, follows it: a value may hold such tags itself."""
_NEXT = compile_later(r"\n<(?:[\w-]+:|｜DSML｜)?parameter[= ]")


def read_elements(text: str, start: int) -> ParsedCalls | None:
    """Elements: `<function=NAME><parameter=KEY>`, or `<invoke name="NAME"><parameter name="KEY">`.

    The first form may hold the arguments as one object (Llama 3.1).
    """
    opening = _FUNCTION.match(text, start) or _INVOKE.match(text, start)
    if opening is None:
        return _cut(text, start) if _UNFINISHED_TAG.match(text, start) else None
    name, at = opening["name"], opening.end()
    if text.startswith("{", at):
        return _object_in_element(text, start, at, name)
    values: dict[str, object] = {}
    typed = False
    while (parameter := _PARAMETER.match(text, at)) is not None:
        end = _VALUE_END.search(text, parameter.end())
        if end is None:
            return _cut(text, start, name)
        value = _trimmed(text[parameter.end() : end.start()])
        if _NEXT.search(value):  # its closing tag was left out, or it speaks of such tags
            return _cut(text, start, name)
        key = parameter["equal"] or parameter["name"]
        values[key] = value if parameter["string"] != "false" else _value(value)
        typed = typed or parameter["string"] is not None
        at = end.end()
    closing = _END.match(text, at)
    if closing is None:
        return _cut(text, start, name)
    call = WrittenCall(name, encoded(values), is_untyped=bool(values) and not typed)
    return ParsedCalls(closing.end(), (call,))


def _object_in_element(text: str, start: int, at: int, name: str) -> ParsedCalls:
    end = Braces(at).end(text)
    if end is None:
        return _cut(text, start, name)
    arguments = decoded(text[at:end])
    closing = _END.match(text, end)
    call = WrittenCall(name, text[at:end] if arguments is None else encoded(arguments))
    return ParsedCalls(closing.end() if closing else end, (call,))


_KEYED = compile_later(rf"(?P<name>{_NAME})\s*(?=<(?:longcat_)?arg_key>|</(?:longcat_)?tool_call>)")
_KEYED_END = compile_later(r"\s*</(?:longcat_)?tool_call>")
_PAIR = compile_later(
    r"\s*<(?:longcat_)?arg_key>(?P<key>[^<]{1,200})</(?:longcat_)?arg_key>\s*<(?:longcat_)?arg_value>"
)
_PAIR_END = compile_later(
    r"</(?:longcat_)?arg_value>(?=\s*<(?:/(?:longcat_)?tool_call>|(?:longcat_)?arg_key>))"
)


def read_keyed(text: str, start: int) -> ParsedCalls | None:
    """A name, then pairs of `<arg_key>` and `<arg_value>`: GLM, LongCat."""
    opening = _KEYED.match(text, start)
    if opening is None:
        return None
    values: dict[str, object] = {}
    at = opening.end()
    while (pair := _PAIR.match(text, at)) is not None:
        end = _PAIR_END.search(text, pair.end())
        if end is None:
            return _cut(text, start, opening["name"])
        values[pair["key"].strip()] = text[pair.end() : end.start()]
        at = end.end()
    closing = _KEYED_END.match(text, at)
    if closing is None:
        return _cut(text, start, opening["name"])
    call = WrittenCall(opening["name"], encoded(values), is_untyped=bool(values))
    return ParsedCalls(closing.end(), (call,))


_PYTHON = compile_later(rf"\[?\s*(?P<name>{_NAME})\(")
_PYTHON_PARTS = compile_later(r"""[([{]|[)\]}]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", re.DOTALL)
_LONGEST_PYTHON = 200_000  # characters: Python's parser is not made for more


def read_python(text: str, start: int) -> ParsedCalls | None:
    """Calls as in Python, in a list or alone: Llama 4, LFM2, Olmo 3."""
    opening = _PYTHON.match(text, start)
    if opening is None:
        return None
    depth, end = 0, None
    for part in _PYTHON_PARTS.finditer(text, start):
        depth += (part[0] in "([{") - (part[0] in ")]}")
        if depth == 0 and part[0] in ")]}":
            end = part.end()
            break
    calls = _python_calls(text[start:end]) if end is not None and end - start < _LONGEST_PYTHON else ()
    return ParsedCalls(end, calls) if calls and end is not None else _cut(text, start, opening["name"])


def _python_calls(text: str) -> tuple[WrittenCall, ...]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the model's strings
            parsed = ast.parse(text.strip(), mode="eval").body
        nodes = parsed.elts if isinstance(parsed, ast.List) else [parsed]
        return tuple(_python_call(node) for node in nodes)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _python_call(node: ast.expr) -> WrittenCall:
    if not isinstance(node, ast.Call) or node.args:
        raise ValueError("only calls with named arguments")
    values = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords}
    if None in values:
        raise ValueError("no unpacking")
    try:
        return WrittenCall(ast.unparse(node.func), encoded(values))
    except TypeError:
        raise ValueError("no JSON") from None


_BARE_KEYS = compile_later(rf"call:(?P<name>{_NAME})(?=\{{)")


def read_call_colon(text: str, start: int) -> ParsedCalls | None:
    """`call:NAME{…}` with bare keys: Gemma."""
    opening = _BARE_KEYS.match(text, start)
    if opening is None:
        return _cut(text, start) if "call:".startswith(text[start : start + 5]) else None
    end = Braces(opening.end()).end(text)
    if end is None:
        return _cut(text, start, opening["name"])
    return ParsedCalls(end, (with_bare_keys(opening["name"], text[opening.end() : end]),))


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One format. `opens`: any of these begins a call; `marks`: further marks, which are dropped."""

    name: str
    opens: tuple[str, ...]
    marks: tuple[str, ...] = ()
    readers: tuple[Reader, ...]


FORMATS = (
    # Hermes, Qwen3, Granite 4, Ernie: an object. Qwen3-Coder, MiMo, Step, Nemotron 3: elements. GLM: keyed.
    Format(
        name="tool_call",
        opens=("<tool_call>",),
        marks=("</tool_call>", "-", "*"),
        readers=(read_json, read_elements, read_keyed),
    ),
    # Qwen3-Coder without its outer tag; Llama 3.1's own form of custom tools.
    Format(
        name="function=",
        opens=("<function=",),
        marks=("</function>", "</tool_call>"),
        readers=(read_elements,),
    ),
    # Also written by models that have read transcripts of Claude.
    Format(
        name="invoke",
        opens=("<invoke name=", "<function_calls>"),
        marks=("</function_calls>",),
        readers=(read_elements, read_python),
    ),
    Format(
        name="minimax",
        opens=("<minimax:tool_call>",),
        marks=("</minimax:tool_call>",),
        readers=(read_elements,),
    ),
    Format(name="seed", opens=("<seed:tool_call>",), marks=("</seed:tool_call>",), readers=(read_elements,)),
    # Hunyuan, Jamba, MiniMax M1.
    Format(name="tool_calls", opens=("<tool_calls>",), marks=("</tool_calls>",), readers=(read_json,)),
    Format(
        name="longcat",
        opens=("<longcat_tool_call>",),
        marks=("</longcat_tool_call>",),
        readers=(read_json, read_keyed),
    ),
    Format(name="mistral", opens=("[TOOL_CALLS]",), readers=(read_json, read_named_json)),
    Format(
        name="kimi",
        opens=("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
        marks=("<|tool_call_end|>", "<|tool_calls_section_end|>"),
        readers=(read_named_json,),
    ),
    # Granite 3; Phi-4-mini closes it.
    Format(name="granite", opens=("<|tool_call|>",), marks=("<|/tool_call|>",), readers=(read_json,)),
    Format(name="phi", opens=("functools[",), readers=(read_json,)),
    Format(name="nemotron", opens=("<TOOLCALL>",), marks=("</TOOLCALL>",), readers=(read_json,)),
    # V3 has `function` in front of the name, and a fence around the arguments.
    Format(
        name="deepseek",
        opens=("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"),
        marks=(
            "function<｜tool▁sep｜>",
            "<｜tool▁call▁end｜>",
            "<｜tool▁calls▁end｜>",
            "<｜end▁of▁sentence｜>",
        ),
        readers=(read_named_json,),
    ),
    # V3.2 and later.
    Format(
        name="deepseek dsml",
        opens=("<｜DSML｜function_calls>", "<｜DSML｜tool_calls>", "<｜DSML｜invoke name="),
        marks=("</｜DSML｜function_calls>", "</｜DSML｜tool_calls>", "<｜end▁of▁sentence｜>"),
        readers=(read_elements,),
    ),
    Format(
        name="llama",
        opens=("<|python_tag|>", "<|python_start|>"),
        marks=("<|python_end|>",),
        readers=(read_json, read_python),
    ),
    Format(name="cohere", opens=("<|START_ACTION|>",), marks=("<|END_ACTION|>",), readers=(read_json,)),
    Format(
        name="internlm",
        opens=("<|action_start|>",),
        marks=("<|plugin|>", "<|action_end|>"),
        readers=(read_json,),
    ),
    Format(
        name="lfm",
        opens=("<|tool_call_start|>",),
        marks=("<|tool_call_end|>",),
        readers=(read_json, read_python),
    ),
    Format(
        name="gemma",
        opens=("<|tool_call>", "<start_function_call>"),
        marks=("<tool_call|>", "<end_function_call>"),
        readers=(read_call_colon,),
    ),
)
"""All formats. gpt-oss's is a format of whole messages: see `harmony`."""

_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "</s>", "<|end_of_text|>", "<|end|>", "<end_of_turn>")
OPENINGS = tuple(sorted((mark for form in FORMATS for mark in form.opens), key=len, reverse=True))
LONGEST = len(OPENINGS[0])
_BY_OPENING = {mark: form for form in FORMATS for mark in form.opens}


def _marks(form: Format) -> re.Pattern[str]:
    marks = (*form.opens, *form.marks, *_ENDS)
    # An opening that is itself the beginning of an element belongs to its reader.
    dropped = [re.escape(word) for word in marks if not word.endswith("=")]
    words = "|".join(sorted(dropped, key=len, reverse=True))
    return compile_later(rf"(?:{words}|[\s;,\]]|\[(?!Tool Result|TOOL_RESULTS)|```(?:json\b)?)+")


_MARKS = {form.name: _marks(form) for form in FORMATS}


def format_at(text: str, start: int) -> Format | None:
    """The format whose opening stands there."""
    for opening in OPENINGS:
        if text.startswith(opening, start):
            return _BY_OPENING[opening]
    return None


def may_open(text: str) -> bool:
    """Whether the text is the proper beginning of an opening."""
    return any(len(text) < len(opening) and opening.startswith(text) for opening in OPENINGS)


def after_marks(form: Format, text: str, start: int) -> int:
    """The end of the marks that stand there."""
    between = _MARKS[form.name].match(text, start)
    return between.end() if between else start


def read_one(form: Format, text: str, start: int) -> ParsedCalls | None:
    """The next call of the format from `start` on, after marks; None if none comes there.

    Without calls, only marks are left, and `end` is their end.
    """
    at = after_marks(form, text, start)
    if at and text[at - 1] == "[" and read_python in form.readers and _PYTHON.match(text, at):
        at -= 1
    if at >= len(text):
        return ParsedCalls(len(text))
    reads = (reader(text, at) for reader in form.readers)
    return next((read for read in reads if read is not None), None)


def unread(name: str, markup: str) -> WrittenCall:
    """A call that is not run: its arguments are its markup, which is no JSON."""
    return WrittenCall(name or UNNAMED, f"(incomplete) {markup}")


def _cut(text: str, start: int, name: str = "") -> ParsedCalls:
    """A call that ends with the text, or without its closing tag."""
    return ParsedCalls(len(text), (unread(name, text[start:]),), is_cut=True)


def _trimmed(value: str) -> str:
    """The value without the line breaks that templates put around it."""
    return value.removeprefix("\n").removesuffix("\n")


def _value(text: str) -> object:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text
