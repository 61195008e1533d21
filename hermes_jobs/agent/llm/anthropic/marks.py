"""Cache marks in requests to Anthropic.

Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching (the order is tools, system,
messages; at most four marks; none on thinking or on an empty text; a cache hit ends at a mark of an earlier
request, at most twenty blocks before a mark of this one).
"""

from __future__ import annotations

from typing import Any

from hermes_jobs.agent.llm.dialect import CacheTtl

Json = dict[str, Any]

MOST_MARKS = 4


def marked(body: Json, ttl: CacheTtl) -> Json:
    """The request with marks on its last tool, its system prompt and its last user messages.

    In a tool loop these are tool results, so that each round reads the cache of the round before. The given
    request is not changed.
    """
    mark = {"type": "ephemeral", **({"ttl": "1h"} if ttl == "1h" else {})}
    steady = {name: _on_last(body[name], mark) for name in ("tools", "system") if body.get(name)}
    messages = list(body["messages"])
    asked = [at for at, each in enumerate(messages) if each["role"] == "user"]
    for at in asked[len(steady) - MOST_MARKS :]:
        messages[at] = {**messages[at], "content": _on_last(messages[at]["content"], mark)}
    return {**body, **steady, "messages": messages}


def _on_last(blocks: list[Json], mark: Json) -> list[Json]:
    return [*blocks[:-1], {**blocks[-1], "cache_control": mark}]
