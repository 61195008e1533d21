"""gpt-oss's Harmony format, from servers that pass it on as the answer: channels of reasoning, calls, text.

    <|channel|>analysis<|message|>reasoning<|end|>
    <|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>
    <|start|>assistant<|channel|>final<|message|>answer<|return|>

The last mark is often missing: servers stop there. A result that the model invents is dropped, with all that
follows it. A mark right after a backtick, or in a fenced block of an ordinary answer, is quoted. Source:
https://cookbook.openai.com/articles/openai-harmony
"""

from __future__ import annotations

import re
from typing import Literal

from hermes_jobs.llm.call_markup import unread
from hermes_jobs.llm.reasoning_filter import Split
from hermes_jobs.llm.written_calls import WrittenCall, decoded, encoded

_MARK = re.compile(r"<\|(start|channel|message|constrain|end|call|return)\|>")
_LONGEST = len("<|constrain|>")
_BEGINS = frozenset({"start", "channel"})
_RECIPIENT = re.compile(r"\bto=(?:functions\.)?([\w.-]+)")
_MODEL = re.compile(r"\s*(?:assistant\b|analysis\b|commentary\b|final\b|to=|$)")
_LONGEST_HEADER = 300
_MOST_QUOTED = 50  # marks: a text that quotes more is about the format
Part = Literal["text", "header", "reasoning", "call", "dropped"]


class ChannelFilter:
    """Takes text piece by piece and returns answer and reasoning. One instance per answer, for one thread.

    A text without marks passes through. After `finish`, `calls` are the calls.
    """

    def __init__(self) -> None:
        self.calls: list[WrittenCall] = []
        self._buffer = ""
        self._part: Part = "text"
        self._seen = False  # a message of the format has begun
        self._header = ""
        self._is_over = False  # a message of somebody else has begun, which the model invents
        self._name = ""
        self._body: list[str] = []
        self._plain: list[str] = []  # the ordinary text so far: it may quote marks
        self._num_quoted = 0

    def feed(self, text: str) -> Split:
        """Handle the next piece. A possible beginning of a mark is held back."""
        return self._read(self._buffer + text, final=False)

    def finish(self) -> Split:
        """Handle the end of the text."""
        rest = self._read(self._buffer, final=True)
        if self._part == "header" and _RECIPIENT.search(self._header):
            self._open()
        if self._part == "call":
            self._close(is_whole=False)
        return rest

    def _read(self, text: str, *, final: bool) -> Split:
        visible: list[str] = []
        reasoning: list[str] = []
        at = 0
        for mark in _MARK.finditer(text):
            self._take(text[at : mark.start()], visible, reasoning)
            at = mark.end()
            if self._is_quoted(mark[1]):
                self._take(mark[0], visible, reasoning)
            else:
                self._turn(mark[1], reasoning)
        cut = len(text) if final else len(text) - _begun(text[at:])
        self._take(text[at:cut], visible, reasoning)
        self._buffer = text[cut:]
        return Split("".join(visible), "".join(reasoning))

    def _is_quoted(self, mark: str) -> bool:
        """Whether the mark is a part of an ordinary text."""
        if self._seen:
            return False
        if mark not in _BEGINS or self._num_quoted > _MOST_QUOTED:
            return True
        before = "".join(self._plain)
        is_quoted = before.endswith("`") or before.count("```") % 2 == 1
        self._num_quoted += is_quoted
        return is_quoted

    def _turn(self, mark: str, reasoning: list[str]) -> None:
        """Handle a mark: it ends the message's part, and begins the next."""
        if self._part == "call" and mark != "constrain":
            self._close(is_whole=True)
        if self._part == "reasoning":
            reasoning.append("\n")
        self._seen = True
        if mark == "message":
            self._open()
        elif mark in _BEGINS or mark == "constrain":
            if self._part != "header":
                self._header = ""
            self._header += " "
            self._part = "header"
        else:
            self._part, self._header = "dropped" if self._is_over else "text", ""

    def _open(self) -> None:
        """Begin the message that the header announces."""
        header, self._body = self._header, []
        recipient = _RECIPIENT.search(header)
        self._is_over = self._is_over or not _MODEL.match(header)
        if self._is_over:
            self._part = "dropped"
        elif recipient is not None:
            self._part, self._name = "call", recipient[1]
        else:
            self._part = "reasoning" if "analysis" in header else "text"

    def _close(self, *, is_whole: bool) -> None:
        body = "".join(self._body).strip()
        arguments = decoded(body) if body else ({} if is_whole else None)
        if arguments is None:
            self.calls.append(WrittenCall(self._name, body) if is_whole else unread(self._name, body))
        else:
            self.calls.append(WrittenCall(self._name, encoded(arguments)))
        self._part = "dropped"

    def _take(self, text: str, visible: list[str], reasoning: list[str]) -> None:
        match self._part:
            case "text":
                visible.append(text)
                if not self._seen:
                    self._plain.append(text)
            case "header":
                self._header = (self._header + text)[:_LONGEST_HEADER]
            case "reasoning":
                reasoning.append(text)
            case "call":
                self._body.append(text)
            case "dropped":
                pass


def _begun(text: str) -> int:
    """How many of the last characters may be the beginning of a mark."""
    at = text.rfind("<", max(0, len(text) - _LONGEST))
    if at < 0:
        return 0
    end = text[at:]
    words = ("start", "channel", "message", "constrain", "end", "call", "return")
    return len(end) if any(f"<|{word}|>".startswith(end) for word in words) else 0
