"""Tool calls as text: what was read, and the parts that all forms share."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import msgspec

from hermes_jobs.llm.payloads import well_formed

UNNAMED = "unnamed"
"""The tool name of a call without a readable name; no tool has this name."""


class WrittenCall(msgspec.Struct, frozen=True):
    """A call as it was parsed: `arguments` is a JSON object, or invalid text.

    `is_untyped`: the values are texts of a format without types; the tool's schema types them.
    """

    name: str
    arguments: str
    is_untyped: bool = False


class ParsedCalls(msgspec.Struct, frozen=True):
    """The end of the parsed text, and the calls in it; without calls it is plain text.

    `is_cut`: the text ends before the call does.
    """

    end: int
    calls: tuple[WrittenCall, ...] = ()
    is_cut: bool = False


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


NAME_IN = re.compile(r'"(?:tool_)?name"\s*:\s*"([\w.-]+)"')
"""The name in the JSON of a call."""


def named(call: Mapping[str, object], *, needs_arguments: bool = False) -> WrittenCall | None:
    """The call in an object with `name` and `arguments` (or `parameters`); None if the object has no call.

    Cohere writes `tool_name`.
    """
    name = call.get("name", call.get("tool_name"))
    if not isinstance(name, str) or not name.strip():
        return None
    values = [call[key] for key in ("arguments", "parameters") if key in call]
    if needs_arguments and not values:
        return None
    arguments = values[0] if values else {}
    text = arguments if isinstance(arguments, str) else encoded({} if arguments is None else arguments)
    return WrittenCall(well_formed(name), well_formed(text))


def broken(body: str) -> WrittenCall:
    """The call of an object that is no JSON, named if its name can be read."""
    name = NAME_IN.search(body)
    return WrittenCall(name[1] if name else UNNAMED, body.strip())


def decoded(body: str) -> dict[str, object] | None:
    """The object in the body; unescaped line breaks inside of strings are accepted, as models write them."""
    try:
        decoded = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict) else None


def encoded(value: object) -> str:
    """The value's JSON."""
    return well_formed(json.dumps(value, ensure_ascii=False))


_BARE_KEY = re.compile(r'("(?:[^"\\]|\\.)*")|([{,]\s*)([A-Za-z_][\w-]*)(\s*:)', re.DOTALL)


def with_bare_keys(name: str, body: str) -> WrittenCall:
    """The call with that object of arguments, whose keys may be bare; Gemma's marks of strings are quotes."""
    body = body.replace('<|"|>', '"').replace("<escape>", '"')
    for text in (body, _BARE_KEY.sub(_quoted_key, body)):
        arguments = decoded(text)
        if arguments is not None:
            return WrittenCall(name, encoded(arguments))
    return WrittenCall(name, body)


def _quoted_key(match: re.Match[str]) -> str:
    return match[1] or f'{match[2]}"{match[3]}"{match[4]}'
