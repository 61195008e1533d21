"""Renders the canonical history for models with textual tool calls.

Pure; roles alternate: neighbours of one role become one message. The rendering of a shorter history is a
prefix of that of a longer one, character by character, so that prompt caches apply. The form of a call is one
that `call_forms` parses.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

from hermes_jobs.domain.session.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.engine.ports import ToolSpec

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


def text_messages(
    system_prompt: str, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
) -> list[Json]:
    """The system prompt followed by the tools, and the history in the roles `user` and `assistant`."""
    sections = [system_prompt.rstrip("\n")] if system_prompt.strip() else []
    if tools:
        sections.append(INSTRUCTIONS + "\n".join(_tool(spec) for spec in tools))
    rendered = [{"role": "system", "content": "\n\n".join(sections) + "\n"}] if sections else []
    for role, text in map(_said, messages):
        if rendered and rendered[-1]["role"] == role:
            rendered[-1] = {"role": role, "content": _joined((rendered[-1]["content"], text))}
        else:
            rendered.append({"role": role, "content": text})
    return rendered


def _said(message: Message) -> tuple[str, str]:
    match message:
        case UserMessage(content):
            return "user", content
        case AssistantMessage(content, calls):
            return "assistant", _joined((content, *map(_call, calls)))
        case ToolMessage(_, name, content):
            return "user", f"[Tool Result: {name}]\n{content}"
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
