"""Shortens old tool calls: a long result becomes a line, long arguments are cut and stay valid JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from hermes_jobs.kernel.turns.attachments import past
from hermes_jobs.kernel.turns.loop_guard import WARNING
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage
from hermes_jobs.kernel.turns.tool_results import OPEN

MAX_RESULT = 200
MAX_ARGUMENTS = 500
MAX_VALUE = 120
MAX_SHOWN_CHARS = 80  # characters of an argument, or of an error
ENDING = 2_000  # characters at a result's end that are searched for the outcome
PRUNED = "[pruned]"
MAIN_ARGUMENTS = (
    "command",
    "path",
    "url",
    "query",
    "pattern",
    "task",
    "prompt",
    "name",
    "content",
    "text",
    "action",
)
"""Arguments that identify a call, the most significant first; for other calls, the first argument."""

_ENDINGS = (
    (re.compile(r"\[exit code (-?\d+(?:: [a-z ]+)?)\]"), "failed, exit code {}"),
    (re.compile(r"\[The command was killed after ([\d.e+]+ s)"), "timed out after {}"),
    (re.compile(r"\[The command was interrupted"), "was interrupted"),
    (re.compile(r"\[The command killed the process that supervised it"), "failed, exit code unknown"),
)
"""The notes of `terminal` after the output of a failed command."""
_STATUS = re.compile(r"\[[^\]\n]{1,800}, HTTP (\d{3})\b")
"""The note of `web_fetch` before a page whose status is not 200."""


def prune(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages with long results and arguments shortened, and repeated results replaced by a note."""
    calls: dict[str, ToolCall] = {}
    seen_ids: set[str] = set()
    small: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls.update({call.id: call for call in message.tool_calls})
            small.append(replace(message, tool_calls=tuple(_call(call) for call in message.tool_calls)))
        elif isinstance(message, ToolMessage) and (len(message.content) > MAX_RESULT or message.attachments):
            again = message.content in seen_ids and not message.attachments
            seen_ids.add(message.content)
            line = _line(message, calls.get(message.tool_call), again=again)
            small.append(replace(message, content=line, attachments=()))
        else:
            small.append(message)
    return tuple(small)


def _line(message: ToolMessage, call: ToolCall | None, *, again: bool) -> str:
    text = f"{PRUNED} {message.name}({_argument(call)}) {outcome(message.name, message.content)}; "
    if again:
        return f"{text}the same result as before"
    text += f"{len(message.content):,} characters, {message.content.count(chr(10)) + 1:,} lines"
    return "\n".join((text, *map(past, message.attachments)))


def outcome(name: str, content: str) -> str:
    """A call's outcome from its result, with the last line of a failure."""
    text, words = ending(name, content)
    return f"{text}: {words}" if words else text


def ending(name: str, content: str) -> tuple[str, str]:
    """A call's outcome: its exit status or HTTP status, a time limit, an error; and the text of the failure,
    which is untrusted ("" for none)."""
    content = content.removeprefix(WARNING)
    if content.startswith("Error"):
        return "failed", _shown(content.partition(chr(10))[0])
    if content.startswith(OPEN):
        return "gave a large result, of which this held the beginning", ""
    if content.startswith("Interrupted:"):
        return "was interrupted", ""
    last = content[-ENDING:]
    for pattern, text in _ENDINGS:
        if match := pattern.search(last):
            return text.format(*match.groups()), _last_line(last[: match.start()])
    if match := _STATUS.match(content):
        return f"{'failed' if match[1] >= '400' else 'ok'}, HTTP {match[1]}", ""
    return ("ok, exit code 0" if name == "terminal" else "ok"), ""


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return _shown(lines[-1]) if lines else ""


def _shown(text: str) -> str:
    return " ".join(text.split())[:MAX_SHOWN_CHARS]


def _argument(call: ToolCall | None) -> str:
    if call is None:
        return ""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return _shown(call.arguments)
    if not isinstance(arguments, dict):
        return _shown(json.dumps(arguments, ensure_ascii=False))
    main_argument = next((name for name in MAIN_ARGUMENTS if arguments.get(name)), next(iter(arguments), ""))
    value = arguments.get(main_argument, "")
    return _shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


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
            return {key: _short(item) for key, item in value.items()}
        case list():
            return [_short(item) for item in value]
        case _:
            return value
