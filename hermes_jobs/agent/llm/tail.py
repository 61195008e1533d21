"""Finds textual tool calls at the end of an answer, from models with native tools.

Such models may write `<tool_call>{…}</tool_call>` anyway, or, as Llama does, the bare object; and models
continue after a call with an invented `[Tool Result: …]`. Such a text is a call only if nothing but calls
follows to the end of the answer, if each names an offered tool, and if it begins a line outside of fenced
code: an answer that explains the form stays text.
Llama's form: https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/
"""

from __future__ import annotations

import re
from collections.abc import Collection

from hermes_jobs.agent.llm.call_forms import Braces, OpenCall, WrittenCall, decoded, named, read_tagged

_TAG = "<tool_call>"
_BARE = ("{", "[{", "<|python_tag|>")
_RESULT = "[Tool Result: "
_RESULT_OF = re.compile(r"\[Tool Result: ([\w.-]{1,64})\]")
_BETWEEN = re.compile(r"(?:[\s;,\[\]]|<\|python_tag\|>|<\|eo[mt]_id\|>)*")
_BARE_FIELDS = frozenset({"name", "parameters", "arguments", "type", "id", "function"})
_FENCES = ("```", "~~~")
MAX_CALLS = 100
"""A longer tail is not taken for calls."""
_LONGEST_OPENING = 100
_LOOKED_AT = 200  # characters of a line: a line with more leading blanks begins no call


class TailFilter:
    """Takes text piece by piece and holds back a possible tail of calls. One instance per answer, for one
    thread.

    `tagged`: `<tool_call>` is searched too. After `finish`, `calls` are the found calls.
    """

    def __init__(self, tool_names: Collection[str], *, tagged: bool) -> None:
        self.calls: list[WrittenCall] = []
        self._tool_names = frozenset(tool_names)
        self._tagged = tagged
        self._buffer = ""
        self._open = False  # the held text begins with an opening, and is held to the end
        self._line = ""  # the beginning of the current line, as far as it was passed on
        self._fenced = False
        self._has_text = False

    def feed(self, text: str) -> str:
        """Handle the next piece; returns the text to show."""
        if self._open:
            self._buffer += text
            return ""
        text, position = self._buffer + text, 0
        while position < len(text):
            end = text.find("\n", position)
            stop = len(text) if end < 0 else end + 1
            if not self._line:
                beginning = text[position : min(stop, position + _LOOKED_AT)].lstrip(" \t")
                self._open = self._opens(beginning)
                if self._open or (end < 0 and self._may_open(beginning)):
                    break
            self._let_through(text[position:stop], ended=end >= 0)
            position = stop
        self._buffer = text[position:]
        return text[:position]

    def finish(self, native: Collection[str] = ()) -> str:
        """Handle the end of the text; returns the held text if it is not a call.

        `native` are the tools called in the API's own form: a textual call beside them is a duplicate, or
        text.
        """
        text, self._buffer = self._buffer, ""
        if not self._open:
            return text
        calls = self._calls(text)
        if calls is None or (native and not {call.name for call in calls} <= set(native)):
            return text
        self.calls = [] if native else calls
        return ""

    def _let_through(self, line: str, *, ended: bool) -> None:
        self._has_text = self._has_text or bool(line.strip())
        self._line = (self._line + line[:_LONGEST_OPENING])[:_LONGEST_OPENING]
        if ended:
            self._fenced ^= self._line.lstrip().startswith(_FENCES)
            self._line = ""

    def _opens(self, line: str) -> bool:
        if self._fenced:
            return False
        if line.startswith(_BARE):
            return not self._has_text
        return (self._tagged and line.startswith(_TAG)) or self._is_result(line)

    def _may_open(self, line: str) -> bool:
        """Whether the unfinished line may still become an opening."""
        if self._fenced or len(line) > _LONGEST_OPENING:
            return False
        openings = [_RESULT, *([_TAG] if self._tagged else []), *(() if self._has_text else _BARE)]
        return any(opening.startswith(line) for opening in openings) or (
            line.startswith(_RESULT) and "]" not in line
        )

    def _is_result(self, text: str) -> bool:
        match = _RESULT_OF.match(text)
        return match is not None and match[1] in self._tool_names

    def _calls(self, text: str) -> list[WrittenCall] | None:
        """The calls in the text, up to an invented result; None if it is not made of calls."""
        calls: list[WrittenCall] = []
        position = 0
        while len(calls) <= MAX_CALLS:
            if self._is_result(text[position : position + _LONGEST_OPENING].lstrip()):
                return calls
            between = _BETWEEN.match(text, position)
            position = between.end() if between else position
            if position >= len(text):
                return calls
            parsed = self._call(text[position:])
            if parsed is None or any(call.name not in self._tool_names for call in parsed[0]):
                return None
            calls += parsed[0]
            position += parsed[1]
        return None

    def _call(self, text: str) -> tuple[tuple[WrittenCall, ...], int] | None:
        """The calls at the beginning of the text, and their end."""
        if text.startswith(_TAG):
            read = read_tagged(text, OpenCall("", Braces(len(_TAG))), True)
            return (read.calls, read.end) if read is not None and read.calls else None
        end = Braces(0).end(text) if text.startswith("{") else None
        decoded_call = decoded(text[:end]) if end is not None else None
        if decoded_call is None or end is None or not decoded_call.keys() <= _BARE_FIELDS:
            return None
        inner = decoded_call.get("function")
        call = named(inner if isinstance(inner, dict) else decoded_call, needs_arguments=True)
        return ((call,), end) if call is not None else None
