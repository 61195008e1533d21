"""The canonical history: what was said, in the one form from which every request is rendered."""

from __future__ import annotations

import msgspec


class ToolCall(msgspec.Struct, frozen=True):
    """A call as the model wrote it: `id` is the provider's, `arguments` the model's own string."""

    id: str
    name: str
    arguments: str


class UserMessage(msgspec.Struct, frozen=True, tag_field="role", tag="user"):
    """What a user said, or the system in a user's place: see `interjections`."""

    content: str


class AssistantMessage(msgspec.Struct, frozen=True, tag_field="role", tag="assistant"):
    """What the model said, with the calls it asked for. Reasoning is kept in the log only."""

    content: str
    tool_calls: tuple[ToolCall, ...] = ()


class ToolMessage(msgspec.Struct, frozen=True, tag_field="role", tag="tool"):
    """The one result of a call. `tool_call` is the `ToolCall.id` that it answers."""

    tool_call: str
    name: str
    content: str


Message = UserMessage | AssistantMessage | ToolMessage
