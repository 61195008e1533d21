"""Forms of tool calls that models write into their text. A new form is one entry in `FORMS`.

A call with broken JSON is still a call, with the broken text as its arguments, so that the model gets an
error. A form right after a backtick is quoted, and no call.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from hermes_jobs.llm.call_markup import read_elements, read_keyed
from hermes_jobs.llm.written_calls import (
    NAME_IN,
    Braces,
    ParsedCalls,
    WrittenCall,
    broken,
    decoded,
    named,
    with_bare_keys,
)


class OpenCall(msgspec.Struct):
    """A call that has begun: its name, if the opening holds it, and the object after it.

    Its closing tag is searched from `closing_from` on.
    """

    name: str
    braces: Braces
    closing_from: int = 0


Reader = Callable[[str, OpenCall, bool], ParsedCalls | None]
"""`(text, opened, final)`: parses the call that begins the text. None: more
text is needed; never if `final`.
"""


class Form(msgspec.Struct, frozen=True):
    """`opening` matches the beginning of a call, maybe with its `name`; `beginning` matches a possible start
    of one at the end of a text.
    """

    opening: re.Pattern[str]
    beginning: re.Pattern[str]
    read: Reader


def read_tagged(text: str, opened: OpenCall, final: bool) -> ParsedCalls | None:
    """`<tool_call>{"name": …, "arguments": {…}}</tool_call>`; the closing tag may be missing.

    Models write other forms between the same tags.
    """
    if _OTHER_FORM.match(text, opened.braces.start):
        return _read_other(text, opened, final)
    end = opened.braces.end(text)
    if end is None and not final:
        return None
    debris = _DEBRIS.match(text, opened.braces.start)
    start = debris.end() if debris else opened.braces.start
    call = _named(text[start:end]) if end is not None else None
    if call is not None and end is not None:
        return _rest_of_block(text, end, call, final=final)
    limit = len(text) if end is None else end
    stops = [at for tag in (_CLOSE, _OPEN) if (at := text.find(tag, opened.braces.start, limit)) >= 0]
    stop = min(stops, default=limit)
    after = _closed(text, stop, _CLOSE, final=final)
    return None if after is None else ParsedCalls(after, (broken(text[opened.braces.start : stop]),))


_OTHER_FORM = re.compile(r"\s*(?:<(?:function|invoke)\b|[A-Za-z_][\w.-]*\s*<(?:arg_key|/tool_call)\b)")


def _read_other(text: str, opened: OpenCall, final: bool) -> ParsedCalls | None:
    """Elements, or a name with keys and values, between the tags."""
    end = text.find(_CLOSE, opened.closing_from)
    if end < 0 and not final:
        opened.closing_from = max(opened.closing_from, len(text) - len(_CLOSE))
        return None
    at = opened.braces.start
    start = at + len(text[at:]) - len(text[at:].lstrip())
    read = read_elements(text, start) or read_keyed(text, start)
    if read is None:
        stop = len(text) if end < 0 else end
        return ParsedCalls(_closed(text, stop, _CLOSE, final=True) or stop, (broken(text[start:stop]),))
    return ParsedCalls(_closed(text, read.end, _CLOSE, final=True) or read.end, read.calls)


_DEBRIS = re.compile(r"(?:[\s,`\[\]*-]|json\b)*")
"""Text between and after the objects of a block: code fences, list marks."""


def _rest_of_block(text: str, end: int, call: WrittenCall, *, final: bool) -> ParsedCalls | None:
    """The calls of a block whose first one ends at `end`; more calls and debris may follow up to the closing
    tag.
    """
    calls, position = [call], end
    while True:
        debris = _DEBRIS.match(text, position)
        position = debris.end() if debris else position
        rest = text[position : position + len(_CLOSE)]
        if rest == _CLOSE:
            return ParsedCalls(position + len(_CLOSE), tuple(calls))
        if not final and _CLOSE.startswith(rest):
            return None
        more = Braces(position).end(text) if rest.startswith("{") else None
        if rest.startswith("{") and more is None and not final:
            return None
        another = _named(text[position:more]) if more is not None else None
        if another is None or more is None:
            return ParsedCalls(end, tuple(calls))
        calls.append(another)
        position = end = more


def _read_named(text: str, opened: OpenCall, final: bool) -> ParsedCalls | None:
    """`call:NAME{…}`, with JSON or bare keys in the braces."""
    end = opened.braces.end(text)
    if end is None:
        cut = WrittenCall(opened.name, text[opened.braces.start :])
        return ParsedCalls(len(text), (cut,)) if final else None
    return ParsedCalls(end, (with_bare_keys(opened.name, text[opened.braces.start : end]),))


def _read_fenced(text: str, opened: OpenCall, final: bool) -> ParsedCalls | None:
    """A fenced block that holds only an object with `name` and `arguments`; else it is text."""
    end = opened.braces.end(text)
    if end is None and not final:
        return None
    limit = len(text) if end is None else end
    body = text[opened.braces.start : limit]
    fence = text.find(_FENCE, opened.braces.start, limit)
    if end is None and fence >= 0:
        limit, body = fence, text[opened.braces.start : fence]
    after = _closed(text, limit, _FENCE, final=final)
    if after is None:
        return None
    closed = text.startswith(_FENCE, after - len(_FENCE)) or not text[limit:].strip()
    call = _named(body, needs_arguments=True)
    if call is None and decoded(body) is None and NAME_IN.search(body) and '"arguments"' in body:
        call = broken(body)
    return ParsedCalls(after, (call,)) if call and closed else ParsedCalls(opened.braces.start)


_OPEN, _CLOSE, _FENCE = "<tool_call>", "</tool_call>", "```"
_TOOL = r"[A-Za-z_][\w.-]{0,63}"


def _prefixes(literal: str) -> str:
    """A pattern of the literal's proper prefixes, at the end of a text."""
    return "|".join(re.escape(literal[:length]) for length in range(len(literal) - 1, 0, -1))


FORMS = (
    Form(
        re.compile(rf"(?<!`){_OPEN}"),
        re.compile(rf"(?<!`)(?:{_prefixes(_OPEN)})\Z"),
        read_tagged,
    ),
    Form(
        re.compile(rf"(?<![\w`:/.-])call:(?P<name>{_TOOL})(?=\{{)"),
        re.compile(rf"(?<![\w`:/.-])(?:call:(?:{_TOOL})?|{_prefixes('call:')})\Z"),
        _read_named,
    ),
    Form(
        re.compile(r"(?<!`)```json\s*(?=\{)", re.IGNORECASE),
        re.compile(rf"(?<!`)(?:```json\s*|{_prefixes('```json')})\Z", re.IGNORECASE),
        _read_fenced,
    ),
)


def _closed(text: str, end: int, closing: str, *, final: bool) -> int | None:
    """The end of the closing mark, if it comes next, else `end`; None while it may still come."""
    rest = text[end:].lstrip()
    if rest.startswith(closing):
        return len(text) - len(rest) + len(closing)
    return None if not final and closing.startswith(rest) else end


def _named(body: str, *, needs_arguments: bool = False) -> WrittenCall | None:
    call = decoded(body)
    return None if call is None else named(call, needs_arguments=needs_arguments)
