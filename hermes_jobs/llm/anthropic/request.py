"""Renders a complete request to the Messages API, with its cache marks and how much the model thinks.

Sources: https://platform.claude.com/docs/en/api/messages/create, and
https://platform.claude.com/docs/en/api/migration-2026-10-21: the API version in use has no `temperature`, so
it is never sent.

Cache marks: https://platform.claude.com/docs/en/build-with-claude/prompt-caching (the order is tools, system,
messages; at most four marks; none on thinking or on an empty text; a cache hit ends at a mark of an earlier
request, at most twenty blocks before a mark of this one).

Thinking and output length: https://platform.claude.com/docs/en/build-with-claude/extended-thinking (a budget
is at least 1,024 tokens and less than `max_tokens`),
https://platform.claude.com/docs/en/build-with-claude/thinking (`display`: newer models return no
text of it unless it is asked for), https://platform.claude.com/docs/en/build-with-claude/effort.

Newer models refuse a thinking block if anything before it has changed: that happens after a compression,
and in a review or flush, which have other tools. So a digest of the `Prefix` is stored with the block, and a
block that would be refused is not sent. Source:
https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Any, assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ModelRequest, ToolSpec
from hermes_jobs.kernel.turns.messages import Payload
from hermes_jobs.kernel.turns.rhythm import CacheTtl
from hermes_jobs.llm.answer_format import output_format
from hermes_jobs.llm.anthropic.abilities import Abilities, abilities
from hermes_jobs.llm.anthropic.render import (
    EVERYTHING,
    TakesPayload,
    called_tools,
    lacks_thoughts,
    render,
    tool_name,
)
from hermes_jobs.llm.attachments import Takes, without_attachments
from hermes_jobs.llm.families import Effort

MAX_MARKS = 4


def mark_for_caching(body: Json, ttl: CacheTtl) -> Json:
    """The request with marks on its last tool, its system prompt and its last user messages.

    In a tool loop these are tool results, so that each round reads the cache of the round before. The given
    request is not changed.
    """
    mark = {"type": "ephemeral", **({"ttl": "1h"} if ttl == "1h" else {})}
    steady = {name: _on_last(body[name], mark) for name in ("tools", "system") if body.get(name)}
    messages = list(body["messages"])
    user_messages = [index for index, entry in enumerate(messages) if entry["role"] == "user"]
    for index in user_messages[len(steady) - MAX_MARKS :]:
        messages[index] = {**messages[index], "content": _on_last(messages[index]["content"], mark)}
    return {**body, **steady, "messages": messages}


def _on_last(blocks: list[Json], mark: Json) -> list[Json]:
    return [*blocks[:-1], {**blocks[-1], "cache_control": mark}]


Json = dict[str, Any]


class RequestOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of requests: the settings, without the features that the endpoint refused.

    `marks`: lifetime of marked prefixes, None for no marks; if the settings require them, they are never left
    out. `effort` None: not set. `constrains`: a schema for the answer is sent as a parameter.
    `takes`: the attachments that are sent as they are.
    """

    marks: CacheTtl | None = "5m"
    insists_on_marks: bool = False
    effort: Effort | None = None
    constrains: bool = True
    takes: Takes = EVERYTHING


def request_body(
    request: ModelRequest, conduct: RequestOptions, takes: TakesPayload, prefix: Prefix | None = None
) -> Json:
    """The request body; only its messages depend on the history, and its marks only on positions.

    `prefix` is filled with its content; `takes` may read it.
    """
    tools, system = _tools(request), _system(request)
    if prefix is not None:
        prefix.begin(tools.get("tools"), system)  # `tool_choice` binds nothing
    messages = render(request.messages, takes, conduct.takes, request.contents)
    if prefix is not None:
        prefix.end(messages)
    fields = limit_thinking(abilities(request.model), conduct.effort, request.max_tokens)
    if has_budget(fields) and lacks_thoughts(messages):
        fields = limit_thinking(abilities(request.model), None, request.max_tokens)
    if conduct.constrains and (form := output_format(request)):
        fields = {**fields, "output_config": {**fields.get("output_config", {}), "format": form}}
    body: Json = {
        "model": request.model,
        **fields,
        **system,
        **tools,
        "messages": messages,
        "stream": True,
    }
    return body if conduct.marks is None else mark_for_caching(body, request.cache_ttl or conduct.marks)


def without(conduct: RequestOptions, refusal: str) -> RequestOptions | None:
    """The options without the refused feature; None if the refusal names nothing that can be left out."""
    message = refusal.lower()
    if conduct.constrains and re.search(r"output_config\.format|output_format|schema|grammar", message):
        return replace(conduct, constrains=False)
    if (takes := without_attachments(conduct.takes, message)) is not None:
        return replace(conduct, takes=takes)
    if conduct.marks is not None and "cache_control" in message:
        return None if conduct.insists_on_marks else replace(conduct, marks=None)
    if conduct.effort is not None and any(
        word in message for word in ("thinking", "output_config", "effort")
    ):
        return replace(conduct, effort=None)
    return None


MARKS, EFFORT, PICTURES, DOCUMENTS = "cache_control", "reasoning_effort", "pictures", "documents"
"""The names of refused features: see `refusals.FEATURES`."""


def without_features(conduct: RequestOptions, names: Collection[str]) -> RequestOptions:
    """The options without those features; marks stay where the settings require them."""
    if MARKS in names and not conduct.insists_on_marks:
        conduct = replace(conduct, marks=None)
    takes = Takes(conduct.takes.pictures and PICTURES not in names, DOCUMENTS not in names)
    conduct = replace(conduct, takes=takes)
    return replace(conduct, effort=None) if EFFORT in names else conduct


def refused_feature(before: RequestOptions, after: RequestOptions) -> str:
    """The name of the feature that the second options lack."""
    if before.takes != after.takes:
        return PICTURES if before.takes.pictures != after.takes.pictures else DOCUMENTS
    return MARKS if before.marks != after.marks else EFFORT


def _system(request: ModelRequest) -> Json:
    prompt = request.system_prompt
    return {"system": [{"type": "text", "text": prompt}]} if prompt.strip() else {}


def _tools(request: ModelRequest) -> Json:
    """The tools; if none are offered but some were called, declarations of those: the API requires them."""
    tools = [_tool(spec) for spec in request.tools]
    declared = tools or [_declared(name) for name in called_tools(request.messages)]
    if not declared:
        return {}
    choice = {} if tools and request.tool_choice == "auto" else {"tool_choice": {"type": "none"}}
    return {"tools": declared, **choice}


def _tool(spec: ToolSpec) -> Json:
    schema = (
        spec.parameters if spec.parameters.get("type") == "object" else {"type": "object", **spec.parameters}
    )
    return {"name": tool_name(spec.name), "description": spec.description, "input_schema": schema}


def _declared(name: str) -> Json:
    return {"name": name, "description": "Not available now.", "input_schema": {"type": "object"}}


BUDGETS: dict[Effort, int] = {"none": 0, "low": 2_048, "medium": 8_192, "high": 16_384, "max": 32_000}
MIN_BUDGET = 1_024
DEFAULT_MAX_TOKENS = 64_000
"""The output limit if nothing limits it and the model could write more."""


def limit_thinking(can: Abilities, effort: Effort | None, max_tokens: int | None) -> Json:
    """`max_tokens`, `thinking` and `output_config` of a request.

    `max_tokens` None: the model's limit, or the usual one. A budget is at most half of the limit; if that is
    too small for a budget there is none.
    """
    limit = min(can.longest, DEFAULT_MAX_TOKENS) if max_tokens is None else max_tokens
    return {"max_tokens": limit, **_thought(can, effort, limit)}


def has_budget(fields: Json) -> bool:
    """Whether those fields request thinking with a budget, which binds every message of a tool loop."""
    return bool(fields.get("thinking", {}).get("type") == "enabled")


def _thought(can: Abilities, effort: Effort | None, limit: int) -> Json:
    if effort is None or can.thinking == "none":
        return {}
    if effort == "none":
        return _off(can)
    match can.thinking:
        case "adaptive":
            return {"thinking": {"type": "adaptive", "display": "summarized"}, **_level(can, effort)}
        case "budget":
            budget = min(BUDGETS[effort], limit // 2)
            thinking = {"type": "enabled", "budget_tokens": budget}
            return {**({"thinking": thinking} if budget >= MIN_BUDGET else {}), **_level(can, effort)}
        case _:
            assert_never(can.thinking)


def _off(can: Abilities) -> Json:
    match can.off:
        case "omitted":
            return {}
        case "never":
            return _level(can, "low")
        case _:
            return {"thinking": {"type": can.off}}


def _level(can: Abilities, effort: Effort) -> Json:
    """The effort, if the model has such levels; its highest level in place of an unknown one."""
    if not can.efforts:
        return {}
    return {"output_config": {"effort": effort if effort in can.efforts else can.efforts[-1]}}


class Prefix:
    """Tools, system prompt and messages of one request, without marks. For one request, one thread.

    `whole` is the digest of all of it, empty until `end`: the prefix of thinking blocks in the reply.
    """

    def __init__(self) -> None:
        self.whole = ""
        self._hash = blake2b(digest_size=16)
        self._num_read = 0

    def begin(self, tools: object, system: object) -> None:
        """Add the tools and the system prompt."""
        self._hash.update(msgspec.json.encode((tools, system)))

    def fits(self, payload: Payload, before: Sequence[Json]) -> bool:
        """Whether the payload's prefix is these messages; true if no prefix was stored with it.

        `before` extends the messages of the last call; only the last message of those may have grown since.
        """
        bound = msgspec.json.decode(payload.data).get("prefix")
        return bound is None or bound == self._upto(before)

    def end(self, messages: Sequence[Json]) -> None:
        """Add all messages of the request, the last of which is the user's."""
        self.whole = self._upto(messages)

    def _upto(self, messages: Sequence[Json]) -> str:
        """The digest; empty after an assistant message: no request ends there."""
        if not messages or messages[-1]["role"] == "assistant":
            return ""
        for message in messages[self._num_read : -1]:
            self._hash.update(msgspec.json.encode(message))
        self._num_read = len(messages) - 1
        digest = self._hash.copy()
        digest.update(msgspec.json.encode(messages[-1]))
        return digest.hexdigest()
