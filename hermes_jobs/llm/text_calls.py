"""Tool calls as text, for models without a format of their own: instructions for the model, and the parser
of its text.

A text arrives in pieces; the result depends on the text only, not on its division. White space around a call
is dropped with it, except between two texts.

In a rendered history roles alternate: neighbours of one role become one message. The rendering of a shorter
history is a prefix of that of a longer one, character by character, so that prompt caches apply.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, assert_never

import msgspec

from hermes_jobs.kernel.engine.ports import ToolSpec
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.llm.call_forms import FORMS, Form, OpenCall
from hermes_jobs.llm.written_calls import Braces, WrittenCall


class TextCallFilter:
    """Takes text piece by piece and returns the text without calls. One
    instance per answer, for one thread.
    """

    def __init__(self) -> None:
        self.calls: list[WrittenCall] = []
        self._before = ""  # the character before the held text: a backtick there makes it a quotation
        self._buffer = ""
        self._open: tuple[Form, OpenCall] | None = None  # the call whose opening begins the held text
        self._spaces = ""  # white space that may surround a call
        self._has_text = False
        self._after_call = False

    def feed(self, text: str) -> str:
        """Handle the next piece; returns the text to show. A possible part of a call is held back."""
        self._buffer += text
        return self._read(final=False)

    def finish(self) -> str:
        """Handle the end of the text: the held text is parsed as it is."""
        rest = self._read(final=True)
        return rest if self.calls else rest + self._spaces

    def _read(self, *, final: bool) -> str:
        texts: list[str] = []
        while self._buffer:
            if self._open is None:
                texts.append(self._show(self._until_opening(final=final)))
            if self._open is None:
                break
            form, opened = self._open
            read = form.read(self._buffer, opened, final)
            if read is None:
                break
            text = self._taken(read.end)
            self._open = None
            if not read.calls:
                texts.append(self._show(text))
            else:
                self.calls += read.calls
                self._after_call = True
        return "".join(texts)

    def _until_opening(self, *, final: bool) -> str:
        """The text before the next opening, or before a possible beginning of one."""
        text, offset = self._before + self._buffer, len(self._before)
        matches = [(match, form) for form in FORMS if (match := form.opening.search(text, offset))]
        if not matches:
            openings = [match.start() for form in FORMS if (match := form.beginning.search(text, offset))]
            return self._taken((len(text) if final else min(openings, default=len(text))) - offset)
        match, form = min(matches, key=lambda item: item[0].start())
        self._open = (form, OpenCall(match.groupdict().get("name", ""), Braces(len(match[0]))))
        return self._taken(match.start() - offset)

    def _taken(self, end: int) -> str:
        text, self._buffer = self._buffer[:end], self._buffer[end:]
        self._before = text[-1:] or self._before
        return text

    def _show(self, text: str) -> str:
        """The text without white space next to a call."""
        if self._after_call:
            text = text.lstrip()
            if not self._has_text:
                self._spaces = ""
        if not text:
            return ""
        self._after_call = False
        text = self._spaces + text
        body = text.rstrip()
        self._spaces = text[len(body) :]
        self._has_text = self._has_text or bool(body)
        return body


Json = dict[str, Any]

INSTRUCTIONS = """\
# Tools
You can call the tools below. To call one, write a block of this form; several blocks run at the same time:

<tool_call>
{"name": "the tool's name", "arguments": {"an argument": "its value"}}
</tool_call>

End your message after the blocks. The results come in the next message, each under `[Tool Result: NAME]`;
never write such results yourself. These are the tools, each with the JSON Schema of its arguments:
"""


Content = str | list[Json]


def text_messages(
    system_prompt: str,
    messages: Sequence[Message],
    tools: Sequence[ToolSpec] = (),
    content_of: Callable[[UserMessage | ToolMessage], Content] = lambda message: message.content,
) -> list[Json]:
    """The system prompt followed by the tools, and the history in the roles `user` and `assistant`."""
    sections = [system_prompt.rstrip("\n")] if system_prompt.strip() else []
    if tools:
        sections.append(INSTRUCTIONS + "\n".join(_tool(spec) for spec in tools))
    rendered: list[Json] = [{"role": "system", "content": "\n\n".join(sections) + "\n"}] if sections else []
    for message in messages:
        role, content = _role_and_content(message, content_of)
        if rendered and rendered[-1]["role"] == role:
            rendered[-1] = {"role": role, "content": merged(rendered[-1]["content"], content)}
        else:
            rendered.append({"role": role, "content": content})
    return rendered


def merged(before: Content, after: Content, between: str = "\n\n") -> Content:
    """Two contents as one; texts are joined, an empty one is left out."""
    if isinstance(before, str) and isinstance(after, str):
        return between.join(text for text in (before, after) if text)
    return [*_parts(before), *_parts(after)]


def _parts(content: Content) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content


def _role_and_content(
    message: Message, content_of: Callable[[UserMessage | ToolMessage], Content]
) -> tuple[str, Content]:
    match message:
        case UserMessage():
            return "user", content_of(message)
        case AssistantMessage(content, calls):
            return "assistant", _joined((content, *map(_call, calls)))
        case ToolMessage(_, name):
            return "user", merged(f"[Tool Result: {name}]", content_of(message), "\n")
        case _:
            assert_never(message)


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(text for text in texts if text)


def _call(call: ToolCall) -> str:
    """Arguments that are an object, as they were written; invalid ones as a string."""
    return f'<tool_call>\n{{"name": {_quoted(call.name)}, "arguments": {_arguments(call)}}}\n</tool_call>'


def _arguments(call: ToolCall) -> str:
    if not call.arguments.strip():
        return "{}"
    try:
        is_object = isinstance(msgspec.json.decode(call.arguments), dict)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        is_object = False
    return call.arguments.strip() if is_object else _quoted(call.arguments)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _tool(spec: ToolSpec) -> str:
    return json.dumps(msgspec.to_builtins(spec), ensure_ascii=False)
