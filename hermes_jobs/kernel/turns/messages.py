"""The canonical history: the messages from which every request is rendered."""

from __future__ import annotations

from typing import Annotated

import msgspec

from hermes_jobs.kernel.streams.field_kinds import JSON
from hermes_jobs.kernel.turns.attachments import Attachment, attachment_tokens
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN, token_weight

SILENT = "[SILENT]"
"""The answer of a turn that has nothing to report: it is neither delivered nor spoken."""


class ToolCall(msgspec.Struct, frozen=True):
    """A call as the model wrote it: `id` is the provider's id, `arguments` the model's own string."""

    id: str
    name: str
    arguments: Annotated[str, JSON]


class Payload(msgspec.Struct, frozen=True):
    """Provider data attached to an assistant message: reasoning fields, signatures, encrypted items.

    `data` is a JSON object as text, in the form of `dialect`; only an adapter of that dialect reads it.
    `model` and `endpoint` (host and port) are its origin, since some providers bind it to either.
    """

    dialect: str
    model: str
    endpoint: str
    data: Annotated[str, JSON] = "{}"


class UserMessage(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="role", tag="user"):
    """A text of the user, or a synthetic one in its place: see `synthetic_messages`."""

    content: str
    attachments: tuple[Attachment, ...] = ()


class AssistantMessage(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="role", tag="assistant"):
    """A reply of the model: its text, its calls, and the payload to send back with them.

    Readable reasoning stays in the log: only `payload` is sent, and only to its own dialect.
    """

    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    payload: Payload | None = None


class ToolMessage(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="role", tag="tool"):
    """The only result of a call, or the reason why there is none. `tool_call` is the `ToolCall.id`.
    `attachments` are what the tool shows to the model beside its text."""

    tool_call: str
    name: str
    content: str
    failed: bool = False
    attachments: tuple[Attachment, ...] = ()


Message = UserMessage | AssistantMessage | ToolMessage


def payload_weight(message: AssistantMessage) -> int:
    """The size of the message's payload in a request; it counts only beside tool calls."""
    return token_weight(message.payload.data) if message.payload is not None and message.tool_calls else 0


def attached_weight(message: UserMessage | ToolMessage) -> int:
    """What the message's attachments weigh in a request, in characters of ASCII."""
    return attachment_tokens(message.attachments) * CHARACTERS_A_TOKEN if message.attachments else 0
