"""Conversations in ShareGPT's form: `from` and `value`, with the tags of Hermes.

| from   | value                                                                                       |
|--------|---------------------------------------------------------------------------------------------|
| system | the system prompt                                                                           |
| human  | the user's text                                                                             |
| gpt    | `<think>` reasoning `</think>`, the text, and `<tool_call>` JSON `</tool_call>` for each call |
| tool   | `<tool_response>` JSON `</tool_response>` for each result of the calls before               |
"""

from __future__ import annotations

from typing import Any, Literal, assert_never

import msgspec

from hermes_jobs.agent.llm.told_turns import ToldTurn
from hermes_jobs.domain.session.messages import AssistantMessage, Message, ToolMessage, UserMessage

Speaker = Literal["system", "human", "gpt", "tool"]


class ShareGptMessage(msgspec.Struct, frozen=True):
    """One entry of a conversation."""

    speaker: Speaker = msgspec.field(name="from")
    value: str


def share_gpt(turn: ToldTurn) -> list[ShareGptMessage]:
    """What was said in the turn; consecutive texts of one speaker are one entry."""
    said: list[ShareGptMessage] = []
    for index, message in enumerate(turn.said):
        entry = _entry(message, turn.reasoning.get(index, ""))
        if said and said[-1].speaker == entry.speaker:
            said[-1] = ShareGptMessage(entry.speaker, f"{said[-1].value}\n{entry.value}")
        else:
            said.append(entry)
    return said


def _entry(message: Message, reasoning: str) -> ShareGptMessage:
    match message:
        case UserMessage():
            return ShareGptMessage("human", message.content)
        case AssistantMessage():
            return ShareGptMessage("gpt", _reply(message, reasoning))
        case ToolMessage():
            answer = {"name": message.name, "content": message.content}
            return ShareGptMessage("tool", _tagged("tool_response", answer))
        case _:
            assert_never(message)


def _reply(reply: AssistantMessage, reasoning: str) -> str:
    parts = [f"<think>\n{reasoning}\n</think>"] if reasoning else []
    parts += [reply.content] if reply.content else []
    for call in reply.tool_calls:
        parts.append(_tagged("tool_call", {"name": call.name, "arguments": _arguments(call.arguments)}))
    return "\n".join(parts)


def _tagged(tag: str, value: object) -> str:
    return f"<{tag}>\n{msgspec.json.encode(value).decode()}\n</{tag}>"


def _arguments(written: str) -> Any:
    """The arguments as a value; as the original text if they are not JSON."""
    try:
        return msgspec.json.decode(written or "{}")
    except msgspec.DecodeError:
        return written
