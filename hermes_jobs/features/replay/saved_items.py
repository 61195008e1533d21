"""A request without a saved item, or with one: a memory entry or a skill."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.memory.entry_recall import HEADING
from hermes_jobs.features.memory.prompt_section import with_entry, without_entry
from hermes_jobs.features.skills.presenter import with_skill, without_skill
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolMessage, UserMessage
from hermes_jobs.prompt.fences import CLOSE, NOTE, OPEN, with_recall

if TYPE_CHECKING:
    from hermes_jobs.features.replay.events import Exclusion, Inclusion
    from hermes_jobs.kernel.engine.ports import ModelRequest

READING = "skill_view"
NO_SKILL = "Error: There is no skill {name!r}. See skills_list."


def leave_out(request: ModelRequest, item: Exclusion) -> ModelRequest:
    """The request without a memory entry or a skill: without its line in the prompt and in the recalled
    context, and without the reads of it."""
    if item.kind == "memory":
        return replace(
            request,
            system_prompt=without_entry(request.system_prompt, item.text),
            messages=tuple(without_recalled(message, item.text) for message in request.messages),
        )
    return replace(
        request,
        system_prompt=without_skill(request.system_prompt, item.name),
        messages=tuple(_unread(request.messages, item.name)),
    )


def without_recalled(message: Message, entry: str) -> Message:
    """The message without that entry of the memory among what was recalled for it; the same where it is not
    there."""
    before, between, recall = message.content.rpartition(f"\n\n{OPEN}\n{NOTE}\n\n")
    if not isinstance(message, UserMessage) or not between:
        return message
    line = re.compile(rf"- \d{{4}}-\d\d-\d\d: {re.escape(' '.join(entry.split()))}\Z")
    parts = recall.removesuffix(f"\n{CLOSE}").split("\n\n")
    remaining = ["\n".join(text for text in part.split("\n") if not line.match(text)) for part in parts]
    if remaining == parts:
        return message
    recalled = "\n\n".join(part for part in remaining if part != HEADING)
    return with_recall(replace(message, content=before), recalled)


def put_in(request: ModelRequest, item: Inclusion, *, unrelated: bool) -> ModelRequest:
    """The request as it would be with a memory entry, or a skill: its line in the prompt, and its text too,
    as if it had been read, unless the turn is unrelated."""
    prompt = request.system_prompt
    if item.kind == "memory":
        return replace(request, system_prompt=with_entry(prompt, item.target, item.text, item.old))
    return replace(request, system_prompt=with_skill(prompt, item.name, item.text, read=not unrelated))


def _unread(messages: Sequence[Message], name: str) -> Sequence[Message]:
    """The messages in which that skill was not there to be read."""
    calls = {
        call.id
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
        if call.name == READING and _named(call.arguments) == name
    }
    missing = NO_SKILL.format(name=name)
    return [
        replace(message, content=missing, failed=True)
        if isinstance(message, ToolMessage) and message.tool_call in calls
        else message
        for message in messages
    ]


def _named(arguments: str) -> str:
    try:
        return str(msgspec.json.decode(arguments, type=dict[str, object]).get("name", ""))
    except msgspec.DecodeError:
        return ""
