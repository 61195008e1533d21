"""Cache marks for Anthropic, and for endpoints in front of it: they select the prefixes of a prompt to cache.

Source: https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching (at most four marks per request,
none on an empty text; a lifetime of five minutes unless `ttl` says an hour).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

Json = dict[str, Any]

MARKED_MESSAGES = 3
"""Marks on messages: with the one on the system prompt, the four that a request may have."""


def marked(messages: Sequence[Json], *, ttl: Literal["5m", "1h"], tools: bool) -> list[Json]:
    """The rendered messages, with marks on the system prompt and on the last three that can have one.

    `tools`: tool results get one too, on a part of their content, as OpenRouter expects. The given messages
    are not changed.
    """
    mark = {"type": "ephemeral", **({"ttl": "1h"} if ttl == "1h" else {})}
    wanted = [at for at, each in enumerate(messages) if each["role"] == "system"][:1]
    others = [at for at, each in enumerate(messages) if each["role"] != "system"]
    wanted += [at for at in others if _takes_mark(messages[at], tools=tools)][-MARKED_MESSAGES:]
    return [_with_mark(each, mark) if at in wanted else each for at, each in enumerate(messages)]


def _takes_mark(message: Json, *, tools: bool) -> bool:
    content = message.get("content")
    if (message["role"] == "tool" and not tools) or not content:
        return False
    return isinstance(content, str) or (isinstance(content, list) and isinstance(content[-1], dict))


def _with_mark(message: Json, mark: Json) -> Json:
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": [*content[:-1], {**content[-1], "cache_control": mark}]}
    return {**message, "content": [{"type": "text", "text": content, "cache_control": mark}]}
