"""Marks that tell Anthropic, and endpoints in front of it, which beginning of a prompt to keep.

Source: https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching (at most four marks a request, no
mark on an empty text; five minutes unless `ttl` says an hour).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

Json = dict[str, Any]

MARKED_MESSAGES = 3
"""Beside the system prompt: with it, the four marks that a request may hold."""


def marked(
    messages: Sequence[Json], *, ttl: Literal["5m", "1h"], tools: Literal["not", "part", "message"]
) -> list[Json]:
    """The rendered messages with marks on the system prompt and the last three that can carry one.

    `tools`: where results of tools carry one. OpenRouter takes it on a part of the content; Anthropic's own
    endpoint on the message itself, and on messages without text too. The given messages stay as they are.
    """
    mark = {"type": "ephemeral", **({"ttl": "1h"} if ttl == "1h" else {})}
    wanted = [at for at, each in enumerate(messages) if each["role"] == "system"][:1]
    others = [at for at, each in enumerate(messages) if each["role"] != "system"]
    able = [at for at in others if _has_text(messages[at], tools) or tools == "message"]
    wanted += able[-MARKED_MESSAGES:]
    return [_with_mark(each, mark, tools) if at in wanted else each for at, each in enumerate(messages)]


def _has_text(message: Json, tools: str) -> bool:
    content = message.get("content")
    if (message["role"] == "tool" and tools != "part") or not content:
        return False
    return isinstance(content, str) or (isinstance(content, list) and isinstance(content[-1], dict))


def _with_mark(message: Json, mark: Json, tools: str) -> Json:
    content = message.get("content")
    if not _has_text(message, tools):
        return {**message, "cache_control": mark}
    if isinstance(content, list):
        return {**message, "content": [*content[:-1], {**content[-1], "cache_control": mark}]}
    return {**message, "content": [{"type": "text", "text": content, "cache_control": mark}]}
