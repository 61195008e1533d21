"""Ids of tool calls that an endpoint accepts: models make their own, and some repeat them.

Pure. An id depends only on earlier messages, so that the rendering of a longer history begins with that of a
shorter one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256

from msgspec.structs import replace

from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolMessage


def with_valid_ids(messages: Sequence[Message], valid: str) -> Sequence[Message]:
    """The messages with call ids that are unique and match `valid` (a pattern for the whole id).

    Such ids stay unchanged; if all are such, the given messages are returned.
    """
    ids = [
        call.id
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    ]
    if len(set(ids)) == len(ids) and all(re.fullmatch(valid, call_id) for call_id in ids):
        return messages
    used: set[str] = set()
    current: dict[str, str] = {}  # the current id of each original one
    changed: list[Message] = []
    for message in messages:
        match message:
            case AssistantMessage(tool_calls=calls) if calls:
                for call in calls:
                    current[call.id] = _fresh(call.id, used, valid)
                    used.add(current[call.id])
                renamed = tuple(replace(call, id=current[call.id]) for call in calls)
                changed.append(replace(message, tool_calls=renamed))
            case ToolMessage(tool_call=asked_by):
                changed.append(replace(message, tool_call=current.get(asked_by, asked_by)))
            case _:
                changed.append(message)
    return changed


def _fresh(call_id: str, used: set[str], valid: str) -> str:
    """The id itself if it is valid and unused, else one derived from it."""
    if call_id not in used and re.fullmatch(valid, call_id):
        return call_id
    number = 0
    while True:
        digest = sha256(f"{call_id}#{number}".encode("utf-8", "replace")).hexdigest()
        for candidate in (f"call_{digest[:20]}", digest[:9]):  # Mistral accepts nine letters and digits
            if candidate not in used and re.fullmatch(valid, candidate):
                return candidate
        number += 1
