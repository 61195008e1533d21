"""About how many tokens a history takes: what its texts weigh, and a little for each message."""

from __future__ import annotations

from collections.abc import Iterable

from hermes_jobs.domain.session.messages import AssistantMessage, Message, payload_weight
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN, token_weight

A_MESSAGE = 4  # tokens for its role and frame


def tokens_of(messages: Iterable[Message]) -> int:
    """The estimate for these messages."""
    return sum(message_tokens(message) for message in messages)


def message_tokens(message: Message) -> int:
    """The estimate for one message."""
    weighs = token_weight(message.content)
    if isinstance(message, AssistantMessage):
        weighs += sum(token_weight(call.name) + token_weight(call.arguments) for call in message.tool_calls)
        weighs += payload_weight(message)
    return A_MESSAGE + -(-weighs // CHARACTERS_A_TOKEN)
