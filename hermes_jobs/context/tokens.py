"""About how many tokens a history takes: four characters a token, and a little for each message."""

from __future__ import annotations

from collections.abc import Iterable

from hermes_jobs.domain.messages import AssistantMessage, Message

CHARACTERS_A_TOKEN = 4
A_MESSAGE = 4  # tokens for its role and frame


def tokens_of(messages: Iterable[Message]) -> int:
    """The estimate for these messages."""
    return sum(message_tokens(message) for message in messages)


def message_tokens(message: Message) -> int:
    """The estimate for one message."""
    characters = len(message.content)
    if isinstance(message, AssistantMessage):
        characters += sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
    return A_MESSAGE + text_tokens(characters)


def text_tokens(characters: int) -> int:
    """The estimate for so many characters, rounded up."""
    return -(-characters // CHARACTERS_A_TOKEN)
