"""Finds textual tool calls at the end of an answer.

Models write a format of `call_markup`, or, as Llama does, a bare object, although their tools are native; and
models continue after a call with an invented result. Such a text is a call only if nothing but calls follows
to the end of the answer, and if it stands outside of code: an answer that explains a format stays text. A
call that is cut off, or that text follows, is never run: it becomes a call whose arguments cannot be read, so
that the model gets an error. Objects count only if they name an offered tool.
Llama's form: https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import msgspec

from hermes_jobs.llm.call_markup import (
    LONGEST,
    OPENINGS,
    Format,
    after_marks,
    format_at,
    may_open,
    read_one,
    unread,
)
from hermes_jobs.llm.written_calls import UNNAMED, Braces, ParsedCalls, WrittenCall, decoded, named

_TAG = "<tool_call>"
_BARE = ("{", "[{")
_RESULT = "[Tool Result: "
_RESULT_OF = re.compile(r"\[Tool Result: ([\w.-]{1,64})\]")
_INVENTED = re.compile(r"\s*<(?:tool_response|function_results|\|im_start\|)>|\s*\[TOOL_RESULTS\]")
"""A result that the model invents after its call."""
_BETWEEN = re.compile(r"(?:[\s;,\[\]]|<\|eo[mt]_id\|>)*")
_BARE_FIELDS = frozenset({"name", "parameters", "arguments", "type", "id", "function"})
_FENCES = ("```", "~~~")
_OPENING = re.compile("|".join(map(re.escape, OPENINGS)))
_OPENING_OR_TICK = re.compile(f"`|{_OPENING.pattern}")
_FIRST = frozenset(opening[0] for opening in OPENINGS)
MAX_CALLS = 100
"""A longer tail is not taken for calls."""
_MOST_MENTIONS = 50
"""Openings that turn out to be mentions; after more of them the text is about a format."""
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_LOOKED_AT = 200  # characters of a line: a line with more leading blanks begins no bare call


class _Tail(msgspec.Struct, frozen=True):
    """The calls at the beginning of a text, and their end; `follows`: other text comes after them."""

    calls: tuple[WrittenCall, ...]
    end: int
    follows: bool = False


class TailFilter:
    """Takes text piece by piece and holds back a possible tail of calls. One instance per answer, for one
    thread.

    `tagged`: `<tool_call>` is searched too. `bare`: objects without marks are. After `finish`, `calls` are
    the found calls.
    """

    def __init__(self, tool_names: Collection[str], *, tagged: bool, bare: bool = True) -> None:
        self.calls: list[WrittenCall] = []
        self._tool_names = frozenset(tool_names)
        self._tagged = tagged
        self._bare = _BARE if bare else ()
        self._buffer: list[str] = []
        self._open = False  # the held text begins with an opening, and is held to the end
        self._line = ""  # the beginning of the current line, as far as it was passed on
        self._before = ""  # the last characters that were passed on
        self._fenced = False
        self._quoted = False  # in code within a line, which begins with an opening
        self._has_text = False

    def feed(self, text: str) -> str:
        """Handle the next piece; returns the text to show."""
        self._buffer.append(text)
        if self._open:
            return ""
        held = "".join(self._buffer)
        start = self._start(held)
        self._buffer = [held[start:]]
        return held[:start]

    def finish(self, native: Collection[str] = ()) -> str:
        """Handle the end of the text; returns the held text if it is not a call.

        `native` are the tools called in the API's own form: a textual call beside them is a duplicate, or
        text.
        """
        text, self._buffer = "".join(self._buffer), []
        start = 0
        for _ in range(_MOST_MENTIONS):
            if not self._open:
                break
            tail = self._tail(text, start)
            if tail is not None and not (native and not {call.name for call in tail.calls} <= set(native)):
                self.calls = [] if native else list(tail.calls)
                return text[:start]
            end = start + max(self._mention(text[start : start + LONGEST]), 0 if tail is None else tail.end)
            self._let_through(text[start:end])
            self._open = False
            start = end + self._start(text[end:], final=True)
        return text

    def _start(self, text: str, *, final: bool = False) -> int:
        """The start of the first opening, or of what may become one; what is before it is let through."""
        position = 0
        while position < len(text):
            end = text.find("\n", position)
            stop = len(text) if end < 0 else end + 1
            if not self._line:
                beginning = text[position : min(stop, position + _LOOKED_AT)].lstrip(" \t")
                self._open = self._opens(beginning)
                if self._open or (end < 0 and not final and self._may_open(beginning)):
                    return position
            marked = self._marked(text[position:stop], final=final or end >= 0)
            if marked is not None:
                self._let_through(text[position : position + marked])
                return position + marked
            self._let_through(text[position:stop])
            position = stop
        return position

    def _marked(self, line: str, *, final: bool) -> int | None:
        """Where an opening stands in the rest of a line, or may begin at its end."""
        if self._fenced or (self._line + line[:LONGEST]).lstrip(" \t").startswith(_FENCES):
            return None
        for match in _OPENING_OR_TICK.finditer(line):
            at = match.start()
            before = line[at - _LOOKED_AT : at] if at > _LOOKED_AT else self._before + line[:at]
            if match[0] == "`" or self._quoted:
                self._quoted = self._quoted and match[0] != "`"
            elif before.endswith("`"):
                self._quoted = True
            elif not self._may_begin(line, at):
                continue
            elif self._tagged or not self._is_tagged(before, match[0]):
                self._open = True
                return at
        if final or self._quoted:
            return None
        for at in range(max(0, len(line) - LONGEST + 1), len(line)):
            if line[at] in _FIRST and self._may_begin(line, at) and may_open(line[at:]):
                return at
        return None

    def _may_begin(self, line: str, at: int) -> bool:
        """Whether an opening may stand there: one that is a word only at the beginning of a line."""
        return not line[at].isalpha() or not (self._line + line[:at]).strip()

    @staticmethod
    def _is_tagged(before: str, opening: str) -> bool:
        """Whether another filter reads it: the tag, or what stands in it."""
        return opening == _TAG or before.rstrip().endswith(_TAG)

    def _mention(self, text: str) -> int:
        """The length of the opening at the beginning, at least one character."""
        match = _OPENING.match(text)
        return match.end() if match else 1

    def _let_through(self, text: str) -> None:
        self._has_text = self._has_text or bool(text.strip())
        self._before = (self._before + text[-_LOOKED_AT:])[-_LOOKED_AT:]
        for line in _LINES.findall(text):
            self._line = (self._line + line[:LONGEST])[:LONGEST]
            if line.endswith("\n"):
                self._fenced ^= self._line.lstrip().startswith(_FENCES)
                self._quoted = self._quoted and bool(self._line.strip())
                self._line = ""

    def _opens(self, line: str) -> bool:
        """Whether a bare object, or an invented result, begins the line."""
        if self._fenced:
            return False
        if line.startswith(self._bare):
            return not self._has_text
        return self._is_result(line)

    def _may_open(self, line: str) -> bool:
        """Whether the unfinished line may still become an opening."""
        if self._fenced or len(line) > LONGEST:
            return False
        openings = [_RESULT, *(() if self._has_text else self._bare)]
        return any(opening.startswith(line) for opening in openings) or (
            line.startswith(_RESULT) and "]" not in line
        )

    def _is_result(self, text: str) -> bool:
        match = _RESULT_OF.match(text)
        return match is not None and match[1] in self._tool_names

    def _tail(self, text: str, start: int) -> _Tail | None:
        """The calls from `start` to the end; None if they are not calls."""
        marked = format_at(text, start + _blanks(text, start))
        if marked is None:
            calls = self._objects(text, start)
            return None if calls is None else _Tail(tuple(calls), len(text) - start)
        calls = []
        position = start
        while len(calls) <= MAX_CALLS:
            if calls and self._is_invented(text, after_marks(marked, text, position)):
                return _Tail(tuple(calls), len(text) - start)
            marked = format_at(text, position + _blanks(text, position)) or marked
            read = read_one(marked, text, position)
            if read is None:
                return self._interrupted(calls, text, start, position)
            if not read.calls:
                return _Tail(tuple(calls), len(text) - start) if calls else _only_opened(text, start)
            if not self._may_be_meant(marked, read):
                return None
            calls += read.calls
            position = read.end
        return None

    def _interrupted(self, calls: list[WrittenCall], text: str, start: int, end: int) -> _Tail | None:
        """Calls that text follows: an example of a format, or a call after which the model went on."""
        if not calls or format_at(text, start) is None or text.startswith(_TAG, start):
            return None
        if not self._are_known(calls):
            return None
        told = [unread(call.name, f"{text[start:end][:2000]} (text follows the call)") for call in calls]
        return _Tail(tuple(told), len(text) - start)

    def _may_be_meant(self, form: Format, read: ParsedCalls) -> bool:
        """Whether the names speak for calls: those of Hermes' form are offered, a cut one may become so."""
        if read.is_cut:
            cut = read.calls[-1].name
            return cut == UNNAMED or any(name.startswith(cut) for name in self._tool_names)
        return form.name != "tool_call" or self._are_known(read.calls)

    def _are_known(self, calls: Sequence[WrittenCall]) -> bool:
        return all(call.name in self._tool_names for call in calls)

    def _is_invented(self, text: str, start: int) -> bool:
        if _INVENTED.match(text, start):
            return True
        return self._is_result(text[start + _blanks(text, start) :][:LONGEST])

    def _objects(self, text: str, start: int) -> list[WrittenCall] | None:
        """The bare objects up to an invented result; None if the text is not made of calls."""
        calls: list[WrittenCall] = []
        position = start
        while len(calls) <= MAX_CALLS:
            if self._is_invented(text, position):
                return calls
            between = _BETWEEN.match(text, position)
            position = between.end() if between else position
            if position >= len(text):
                return calls
            end = Braces(position).end(text) if text.startswith("{", position) else None
            content = decoded(text[position:end]) if end is not None else None
            if content is None or end is None or not content.keys() <= _BARE_FIELDS:
                return None
            inner = content.get("function")
            call = named(inner if isinstance(inner, dict) else content, needs_arguments=True)
            if call is None or call.name not in self._tool_names:
                return None
            calls.append(call)
            position = end
        return None


_BLANKS = re.compile(r"\s*")


def _blanks(text: str, start: int) -> int:
    match = _BLANKS.match(text, start)
    return match.end() - start if match else 0


def _only_opened(text: str, start: int) -> _Tail | None:
    """A call of which only the opening has come; `<tool_call>` alone is a word."""
    if text.startswith(_TAG, start):
        return None
    return _Tail((unread("", text[start:]),), len(text) - start)
