"""Renders the canonical history as messages of the Messages API.

Pure. The rendering of a shorter history is a prefix of that of a longer one, block by block, so that prompt
caches apply and the signatures of thinking stay valid. Sources:
https://platform.claude.com/docs/en/api/messages,
https://platform.claude.com/docs/en/api/errors (validation),
https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls (all results of a round in
the next message, before its text),
https://platform.claude.com/docs/en/build-with-claude/thinking (thinking goes back unmodified, with its
calls).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from hermes_jobs.kernel.turns.messages import (
    AssistantMessage,
    Message,
    Payload,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from hermes_jobs.llm.attachments import Contents, Takes, anthropic_blocks, joined, pieces, shown
from hermes_jobs.llm.call_ids import with_valid_ids

Json = dict[str, Any]
TakesPayload = Callable[[Payload, Sequence[Json]], bool]
"""Whether a payload is sent back in this request, after these messages."""

EVERYTHING = Takes(pictures=True, files=True)
NO_CONTENTS: Contents = {}

DIALECT = "anthropic"
THOUGHTS = frozenset({"thinking", "redacted_thinking"})
EARLIER = "(What was said before this is not shown.)"
CONTINUE_PROMPT = "Go on."
NO_TEXT = "(no text)"
NO_OUTPUT = "(no output)"
NO_RESULT = "Error: this call has no result; it was interrupted."

USABLE_ID = "[a-zA-Z0-9_-]{1,64}"
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


def render(
    history: Sequence[Message],
    takes: TakesPayload,
    attached: Takes = EVERYTHING,
    contents: Contents = NO_CONTENTS,
) -> list[Json]:
    """The messages with alternating roles; the first and the last are the user's."""
    messages: list[Json] = []
    for reply, answers in _rounds(with_valid_ids(history, USABLE_ID)):
        _add(messages, "assistant", _assistant(reply, takes, messages))
        _add(
            messages,
            "user",
            [*_results(reply, answers, attached, contents), *_texts(reply, answers, attached, contents)],
        )
    if not messages or messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": [_text(CONTINUE_PROMPT)]})
    return messages


def tool_name(name: str) -> str:
    """A tool name that the API accepts: an invented one must not make the history invalid."""
    return _NOT_IN_NAMES.sub("_", name)[:64] or "unnamed"


def called_tools(history: Sequence[Message]) -> list[str]:
    """The names of all tools that the history calls, as they are sent, each once."""
    calls = (
        call for message in history if isinstance(message, AssistantMessage) for call in message.tool_calls
    )
    return list(dict.fromkeys(tool_name(call.name) for call in calls))


def lacks_thoughts(messages: Sequence[Json]) -> bool:
    """Whether the tool loop at the end has a message with calls that does not begin with thinking.

    Then thinking with a budget is refused: "Expected `thinking` …, but found `tool_use`".
    """
    for message in reversed(messages):
        kinds = [block["type"] for block in message["content"]]
        if message["role"] == "user" and "tool_result" not in kinds:
            return False
        if message["role"] == "assistant" and "tool_use" in kinds and kinds[0] not in THOUGHTS:
            return True
    return False


def _rounds(history: Sequence[Message]) -> Iterator[tuple[AssistantMessage, list[Message]]]:
    """Each assistant message with all messages up to the next one; the first one is empty."""
    reply = AssistantMessage("")
    answers: list[Message] = [] if history and isinstance(history[0], UserMessage) else [UserMessage(EARLIER)]
    for message in history:
        if isinstance(message, AssistantMessage):
            yield reply, answers
            reply, answers = message, []
        else:
            answers.append(message)
    yield reply, answers


def _add(messages: list[Json], role: str, blocks: list[Json]) -> None:
    """Append the blocks as a message, or to the last message if it has the same role."""
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"].extend(blocks)
    else:
        messages.append({"role": role, "content": blocks})


def _assistant(reply: AssistantMessage, takes: TakesPayload, before: Sequence[Json]) -> list[Json]:
    uses = {call.id: _use(call) for call in reply.tool_calls}
    if reply.payload is None or reply.payload.dialect != DIALECT or not takes(reply.payload, before):
        return [*_text_blocks(reply.content), *uses.values()]
    blocks = _restored(reply, uses)
    while blocks and blocks[-1]["type"] in THOUGHTS:  # "The final block … cannot be `thinking`"
        blocks.pop()
    return blocks


def _restored(reply: AssistantMessage, uses: dict[str, Json]) -> list[Json]:
    """The payload's blocks in order, with the message's text and calls in their places."""
    assert reply.payload is not None
    blocks: list[Json] = msgspec.json.decode(reply.payload.data)["content"]
    fits = sum(map(_length, blocks)) == len(reply.content)
    restored: list[Json] = []
    index = 0
    for block in blocks:
        match block["type"]:
            case "text":
                restored += _text_blocks(reply.content[index : index + _length(block)]) if fits else []
                index += _length(block)
            case "tool_use":
                restored += [uses.pop(block["id"])] if block["id"] in uses else []
            case _:
                restored.append(block)
    others = [] if fits else _text_blocks(reply.content)
    return [*restored, *others, *uses.values()]


def _length(block: Json) -> int:
    """The number of characters of the message's text in place of a block, also if the block has its text."""
    length: int = block.get("chars", len(block.get("text", "")))
    return length


def _use(call: ToolCall) -> Json:
    return {
        "type": "tool_use",
        "id": call.id,
        "name": tool_name(call.name),
        "input": _input(call.arguments),
    }


def _input(text: str) -> Json:
    """The arguments as an object; invalid ones are sent to the model as text."""
    try:
        decoded = msgspec.json.decode(text) if text.strip() else {}
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        decoded = None
    return decoded if isinstance(decoded, dict) else {"unreadable_arguments": text}


def _results(
    reply: AssistantMessage, answers: Sequence[Message], attached: Takes, contents: Contents
) -> Iterator[Json]:
    """The results of the reply's calls. One that shows something is no error: an error has text alone."""
    results = {message.tool_call: message for message in answers if isinstance(message, ToolMessage)}
    for call in reply.tool_calls:
        answer = results.get(call.id) or ToolMessage(call.id, call.name, NO_RESULT, failed=True)
        found = shown(answer, attached, contents)
        text = joined(found)
        content = anthropic_blocks(found) if text is None else text if text.strip() else NO_OUTPUT
        result = {"type": "tool_result", "tool_use_id": call.id, "content": content}
        yield {**result, "is_error": True} if answer.failed and text is not None else result


def _texts(
    reply: AssistantMessage, answers: Sequence[Message], attached: Takes, contents: Contents
) -> Iterator[Json]:
    """The user's text with what is attached to it, and results of calls that are not shown."""
    call_ids = {call.id for call in reply.tool_calls}
    for answer in answers:
        if isinstance(answer, UserMessage) and answer.attachments:
            yield from anthropic_blocks(pieces(answer, attached, contents))
        elif isinstance(answer, UserMessage):
            yield _text(answer.content if answer.content.strip() else NO_TEXT)
        elif isinstance(answer, ToolMessage) and answer.tool_call not in call_ids:
            yield _text(f"[Tool Result: {answer.name}]\n{answer.content}")


def _text_blocks(text: str) -> list[Json]:
    return [_text(text)] if text.strip() else []


def _text(text: str) -> Json:
    return {"type": "text", "text": text}
