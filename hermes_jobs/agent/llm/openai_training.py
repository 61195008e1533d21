"""Conversations in the forms that OpenAI's fine-tuning reads: supervised examples, and preference pairs.

Source: https://platform.openai.com/docs/guides/supervised-fine-tuning and …/direct-preference-optimization.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, assert_never

from hermes_jobs.agent.llm.told_turns import ToldTurn
from hermes_jobs.domain.session.messages import AssistantMessage, Message, ToolMessage, UserMessage
from hermes_jobs.engine.ports import ToolSpec

Chat = dict[str, Any]


def example(system: str, turns: Sequence[ToldTurn], tools: Sequence[ToolSpec]) -> Chat:
    """A conversation as one example. Replies of turns that were rated down have the weight 0: they are
    context, and are not learned."""
    messages = [
        {**chat, "weight": 0} if turn.rating == "down" and chat["role"] == "assistant" else chat
        for turn in turns
        for chat in map(chat_message, turn.said)
    ]
    return _with_tools({"messages": [*_system(system), *messages]}, tools)


def pair(
    system: str, history: Sequence[Message], preferred: str, other: str, tools: Sequence[ToolSpec]
) -> Chat:
    """Two answers after the same messages, one of which is preferred."""
    said = [*_system(system), *map(chat_message, history)]
    return {
        "input": _with_tools({"messages": said}, tools),
        "preferred_output": [{"role": "assistant", "content": preferred}],
        "non_preferred_output": [{"role": "assistant", "content": other}],
    }


def chat_message(message: Message) -> Chat:
    """The message in the form of Chat Completions."""
    match message:
        case UserMessage():
            return {"role": "user", "content": message.content}
        case AssistantMessage():
            calls = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in message.tool_calls
            ]
            return {
                "role": "assistant",
                "content": message.content,
                **({"tool_calls": calls} if calls else {}),
            }
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.tool_call, "content": message.content}
        case _:
            assert_never(message)


def is_calling(said: Iterable[Message]) -> bool:
    """Whether a tool is called in it."""
    return any(isinstance(each, AssistantMessage) and each.tool_calls for each in said)


def _system(prompt: str) -> list[Chat]:
    return [{"role": "system", "content": prompt}] if prompt else []


def _with_tools(body: Chat, tools: Sequence[ToolSpec]) -> Chat:
    if not tools:
        return body
    described = [
        {
            "type": "function",
            "function": {
                "name": each.name,
                "description": each.description,
                "parameters": each.parameters,
            },
        }
        for each in tools
    ]
    return {**body, "tools": described}
