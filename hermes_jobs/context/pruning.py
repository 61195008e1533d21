"""Old tool calls made small: a long result becomes a line, long arguments are cut and stay valid JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from hermes_jobs.domain.messages import AssistantMessage, Message, ToolCall, ToolMessage

MAX_RESULT = 200
MAX_ARGUMENTS = 500
MAX_VALUE = 120
SHOWN_ARGUMENT = 80
PRUNED = "[pruned]"
SAME = f"{PRUNED} the same result as before"


def pruned(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages with long results and arguments made small, and a result that occurs again named once."""
    calls: dict[str, ToolCall] = {}
    seen: set[str] = set()
    small: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls.update({call.id: call for call in message.tool_calls})
            small.append(replace(message, tool_calls=tuple(_call(call) for call in message.tool_calls)))
        elif isinstance(message, ToolMessage) and len(message.content) > MAX_RESULT:
            again = message.content in seen
            seen.add(message.content)
            line = SAME if again else _line(message, calls.get(message.tool_call))
            small.append(replace(message, content=line))
        else:
            small.append(message)
    return tuple(small)


def _line(message: ToolMessage, call: ToolCall | None) -> str:
    failed = message.content.startswith("Error")
    outcome = "failed" if failed else "ok"
    words = message.content.split("\n", 1)[0][:SHOWN_ARGUMENT] if failed else ""
    told = f": {words}" if words else ""
    return (
        f"{PRUNED} {message.name}({_argument(call)}) {outcome}{told}; "
        f"{len(message.content):,} characters, {message.content.count(chr(10)) + 1:,} lines"
    )


def _argument(call: ToolCall | None) -> str:
    if call is None:
        return ""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return call.arguments[:SHOWN_ARGUMENT]
    first = next(iter(arguments.values()), "") if isinstance(arguments, dict) else arguments
    text = first if isinstance(first, str) else json.dumps(first, ensure_ascii=False)
    return text.replace("\n", " ")[:SHOWN_ARGUMENT]


def _call(call: ToolCall) -> ToolCall:
    if len(call.arguments) <= MAX_ARGUMENTS:
        return call
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        arguments = {"cut": call.arguments}
    short = json.dumps(_short(arguments), ensure_ascii=False)
    if len(short) > MAX_ARGUMENTS:
        short = json.dumps({"cut": short[: MAX_ARGUMENTS // 2]}, ensure_ascii=False)
    return ToolCall(call.id, call.name, short)


def _short(value: Any) -> Any:
    match value:
        case str() if len(value) > MAX_VALUE:
            return f"{value[:MAX_VALUE]}… ({len(value):,} characters)"
        case dict():
            return {key: _short(each) for key, each in value.items()}
        case list():
            return [_short(each) for each in value]
        case _:
            return value
