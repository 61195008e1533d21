"""Units of a history: a message, or a tool group (the calls and all their results); and their
size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from hermes_jobs.kernel.turns.messages import (
    AssistantMessage,
    Message,
    ToolMessage,
    UserMessage,
    attached_weight,
    payload_weight,
)
from hermes_jobs.kernel.turns.synthetic_messages import is_nudge
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN, token_weight

Unit = tuple[Message, ...]
NO_RESULT = "(The result of this call was not kept.)"


def message_groups(messages: Iterable[Message]) -> tuple[Unit, ...]:
    """The history in units that must not be split."""
    units: list[list[Message]] = []
    for message in messages:
        if isinstance(message, ToolMessage) and units and isinstance(units[-1][0], AssistantMessage):
            units[-1].append(message)
        else:
            units.append([message])
    return tuple(tuple(unit) for unit in units)


def flatten(units: Iterable[Unit]) -> tuple[Message, ...]:
    """The messages of the units, in order."""
    return tuple(chain.from_iterable(units))


def newest_request(units: Sequence[Unit]) -> int | None:
    """The index of the user's newest message; synthetic user messages do not count."""
    for index in range(len(units) - 1, -1, -1):
        first = units[index][0]
        if isinstance(first, UserMessage) and not is_nudge(first.content):
            return index
    return None


def repair(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The history with exactly one result right after each call: others are removed, missing ones added."""
    return flatten(_repair(unit) for unit in message_groups(messages))


def _repair(unit: Unit) -> Unit:
    first = unit[0]
    if isinstance(first, ToolMessage):
        return ()
    if not isinstance(first, AssistantMessage):
        return unit
    results = {message.tool_call: message for message in unit[1:] if isinstance(message, ToolMessage)}
    answers = (
        results.get(call.id) or ToolMessage(call.id, call.name, NO_RESULT) for call in first.tool_calls
    )
    return (first, *answers)


MESSAGE_OVERHEAD = 4  # tokens for role and framing


def tokens_of(messages: Iterable[Message]) -> int:
    """The estimate for these messages."""
    return sum(message_tokens(message) for message in messages)


def message_tokens(message: Message) -> int:
    """The estimate for one message."""
    weighs = token_weight(message.content)
    if isinstance(message, AssistantMessage):
        weighs += sum(token_weight(call.name) + token_weight(call.arguments) for call in message.tool_calls)
        weighs += payload_weight(message)
    else:
        weighs += attached_weight(message)
    return MESSAGE_OVERHEAD + -(-weighs // CHARACTERS_A_TOKEN)
