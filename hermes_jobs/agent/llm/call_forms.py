"""Forms of tool calls that models write into their text. A new form is one entry in `FORMS`.

A call with broken JSON is still a call, with the broken text as its arguments, so that the model gets an
error. A form right after a backtick is quoted, and no call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

import msgspec

from hermes_jobs.agent.llm.payloads import well_formed

UNNAMED = "unnamed"
"""The tool name of a call without a readable name; no tool has this name."""


class WrittenCall(msgspec.Struct, frozen=True):
    """A call as it was parsed: `arguments` is a JSON object, or invalid text."""

    name: str
    arguments: str


class ParsedCalls(msgspec.Struct, frozen=True):
    """The end of the parsed text, and the calls in it; without calls it is plain text."""

    end: int
    calls: tuple[WrittenCall, ...] = ()


class Braces:
    """Finds the end of the first object at or after `start`, incrementally as the text grows."""

    _MARKS = re.compile(r'\\.|["{}]', re.DOTALL)

    def __init__(self, start: int) -> None:
        self.start = start
        self._at = start
        self._depth = 0
        self._in_string = False
        self._end: int | None = None

    def end(self, text: str) -> int | None:
        """The end of the object; None while it is incomplete."""
        while self._end is None:
            mark = self._MARKS.search(text, self._at)
            if mark is None:
                self._at = len(text) - text.endswith("\\")
                return None
            self._at = mark.end()
            self._count(mark[0])
        return self._end

    def _count(self, mark: str) -> None:
        if mark == '"':
            self._in_string = not self._in_string
        elif mark in "{}" and not self._in_string:
            self._depth += 1 if mark == "{" else -1
            if self._depth <= 0:
                self._end = self._at


class OpenCall(msgspec.Struct):
    """A call that has begun: its name, if the opening holds it, and the object after it."""

    name: str
    braces: Braces


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
    """`<tool_call>{"name": …, "arguments": {…}}</tool_call>`; the closing tag may be missing."""
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
    return None if after is None else ParsedCalls(after, (_broken(text[opened.braces.start : stop]),))


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
        broken = WrittenCall(opened.name, text[opened.braces.start :])
        return ParsedCalls(len(text), (broken,)) if final else None
    body = text[opened.braces.start : end].replace('<|"|>', '"')
    for encoded in (body, _BARE_KEY.sub(_quoted_key, body)):
        arguments = decoded(encoded)
        if arguments is not None:
            return ParsedCalls(end, (WrittenCall(opened.name, _encoded(arguments)),))
    return ParsedCalls(end, (WrittenCall(opened.name, body),))


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
    if call is None and decoded(body) is None and _NAME.search(body) and '"arguments"' in body:
        call = _broken(body)
    return ParsedCalls(after, (call,)) if call and closed else ParsedCalls(opened.braces.start)


_OPEN, _CLOSE, _FENCE = "<tool_call>", "</tool_call>", "```"
_NAME = re.compile(r'"name"\s*:\s*"([\w.-]+)"')
_BARE_KEY = re.compile(r'("(?:[^"\\]|\\.)*")|([{,]\s*)([A-Za-z_][\w-]*)(\s*:)', re.DOTALL)
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


def named(call: Mapping[str, object], *, needs_arguments: bool = False) -> WrittenCall | None:
    """The call in an object with `name` and `arguments` (or `parameters`); None if the object has no call."""
    name = call.get("name")
    if not isinstance(name, str) or not name.strip():
        return None
    values = [call[key] for key in ("arguments", "parameters") if key in call]
    if needs_arguments and not values:
        return None
    arguments = values[0] if values else {}
    encoded = arguments if isinstance(arguments, str) else _encoded({} if arguments is None else arguments)
    return WrittenCall(well_formed(name), well_formed(encoded))


def _broken(body: str) -> WrittenCall:
    name = _NAME.search(body)
    return WrittenCall(name[1] if name else UNNAMED, body.strip())


def decoded(body: str) -> dict[str, object] | None:
    """The object in the body; unescaped line breaks inside of strings are accepted, as models write them."""
    try:
        decoded = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict) else None


def _encoded(value: object) -> str:
    return well_formed(json.dumps(value, ensure_ascii=False))


def _quoted_key(match: re.Match[str]) -> str:
    return match[1] or f'{match[2]}"{match[3]}"{match[4]}'
