"""The canonical history: what was said, in the one form from which every request is rendered."""

from __future__ import annotations

import msgspec

from hermes_jobs.text.tokens import token_weight


class ToolCall(msgspec.Struct, frozen=True):
    """A call as the model wrote it: `id` is the provider's, `arguments` the model's own string."""

    id: str
    name: str
    arguments: str


class Payload(msgspec.Struct, frozen=True):
    """What a provider attached to an assistant message: reasoning fields, signatures, encrypted items.

    `data` is a JSON object as text, in the form of `dialect`; only an adapter of that dialect reads it.
    `model` and `endpoint` (host and port) tell where it came from, since some providers bind it to either.
    """

    dialect: str
    model: str
    endpoint: str
    data: str = "{}"


class UserMessage(msgspec.Struct, frozen=True, tag_field="role", tag="user"):
    """What a user said, or the system in a user's place: see `interjections`."""

    content: str


class AssistantMessage(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="role", tag="assistant"):
    """What the model said, with the calls it asked for, and the payload that goes back with them.

    Readable reasoning stays in the log: only `payload` is ever sent, and only to its own dialect.
    """

    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    payload: Payload | None = None


class ToolMessage(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="role", tag="tool"):
    """The one result of a call, or why there is none. `tool_call` is the `ToolCall.id` that it answers."""

    tool_call: str
    name: str
    content: str
    failed: bool = False


Message = UserMessage | AssistantMessage | ToolMessage


def payload_weight(message: AssistantMessage) -> int:
    """What the message's payload weighs in a request: it counts where it stands beside tool calls."""
    return token_weight(message.payload.data) if message.payload is not None and message.tool_calls else 0
