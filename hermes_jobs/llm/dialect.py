"""How one model is asked at one endpoint: begun from its name and the settings, learned from refusals."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from hermes_jobs.llm.strategy import ToolCalling, calls_by_name

OPENAI_URL = "https://api.openai.com/v1"
_ANTHROPIC_HOST = "api.anthropic.com"

CacheTtl = Literal["5m", "1h"]


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings say of how models are asked; `auto` leaves it to the model's name and to refusals."""

    api: Literal["chat", "responses"] = "chat"
    tool_calling: Literal["auto", "structured", "text"] = "auto"
    prompt_cache: Literal["auto", "on", "off"] = "auto"
    cache_ttl: CacheTtl = "5m"


BY_NAME = Manner()


class Dialect(msgspec.Struct, frozen=True):
    """How to ask one model at one endpoint.

    `cache`: how long marked prefixes are kept, null for no marks; `marks_messages`: also messages without
    text of their own take marks.
    """

    streams: bool = True
    streams_usage: bool = True
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    tool_calls: ToolCalling = "structured"
    cache: CacheTtl | None = None
    marks_messages: bool = False
    system_role: bool = True
    takes_temperature: bool = True


def first_dialect(base_url: str, model: str = "", manner: Manner = BY_NAME) -> Dialect:
    """What is tried first. OpenAI's reasoning models refuse `max_tokens`; many endpoints know only that."""
    host = urlsplit(base_url).hostname
    caches = manner.prompt_cache == "on" or (manner.prompt_cache == "auto" and "claude" in model.lower())
    return Dialect(
        limit_field="max_completion_tokens" if host == urlsplit(OPENAI_URL).hostname else "max_tokens",
        tool_calls=calls_by_name(model) if manner.tool_calling == "auto" else manner.tool_calling,
        cache=manner.cache_ttl if caches else None,
        marks_messages=host == _ANTHROPIC_HOST,
    )


def adapted(dialect: Dialect, status: int | None, message: str, manner: Manner = BY_NAME) -> Dialect | None:
    """The dialect without what this refusal names; null when it names nothing that can be left out."""
    refused = _Refused(message.lower(), is_about_the_request=status in {400, 422})
    found = (learn(dialect, refused) for learn in _LESSONS)
    changed = next((each for each in found if each is not None), None)
    if changed is None or _insists(manner, dialect, changed):
        return None
    return changed


def _insists(manner: Manner, dialect: Dialect, changed: Dialect) -> bool:
    """Whether the settings demand what the endpoint refuses: then the refusal is the answer."""
    return (manner.tool_calling != "auto" and changed.tool_calls != dialect.tool_calls) or (
        manner.prompt_cache != "auto" and changed.cache != dialect.cache
    )


_REFUSALS = re.compile(
    r"unsupported|not (?:yet )?support|unrecognized|unknown|unexpected|not permitted|not allowed"
    r"|invalid (?:field|param)|must be verified to stream|must be false|extra inputs|extra_forbidden"
)
_STREAM = re.compile(r"\bstream(?:ing|ed)?\b")
_NO_TOOLS = re.compile(
    r"(?:does not|doesn't|not) support (?:tools|tool use|tool call|function)|support tool use"
    r"|tools param requires --jinja|requires --enable-auto-tool-choice"
)
"""Ollama, OpenRouter; llama.cpp without `--jinja`; vLLM without a parser for the model's calls."""
_NO_SYSTEM = re.compile(
    r"system role (?:is )?not supported|developer instruction is not enabled"
    r"|(?:does not|doesn't) support (?:the )?system"
)
"""Templates of Gemma's first versions; Google's own endpoint for Gemma."""


class _Refused(msgspec.Struct, frozen=True):
    """What was said, in lower case. Many servers give their own failures for what the request has wrong."""

    said: str
    is_about_the_request: bool


def _without_tools(dialect: Dialect, refused: _Refused) -> Dialect | None:
    named = dialect.tool_calls == "structured" and _NO_TOOLS.search(refused.said)
    return replace(dialect, tool_calls="text") if named else None


def _without_system(dialect: Dialect, refused: _Refused) -> Dialect | None:
    named = dialect.system_role and _NO_SYSTEM.search(refused.said)
    return replace(dialect, system_role=False) if named else None


def _without_marks(dialect: Dialect, refused: _Refused) -> Dialect | None:
    named = dialect.cache is not None and refused.is_about_the_request and "cache_control" in refused.said
    return replace(dialect, cache=None) if named else None


def _without_field(dialect: Dialect, refused: _Refused) -> Dialect | None:
    said = refused.said
    if not refused.is_about_the_request or not _REFUSALS.search(said):
        return None
    if dialect.streams_usage and ("stream_options" in said or "include_usage" in said):
        return replace(dialect, streams_usage=False)
    if dialect.takes_temperature and "temperature" in said:
        return replace(dialect, takes_temperature=False)
    if dialect.limit_field in said and "too large" not in said:
        other: Literal["max_tokens", "max_completion_tokens"] = (
            "max_tokens" if dialect.limit_field == "max_completion_tokens" else "max_completion_tokens"
        )
        return replace(dialect, limit_field=other)
    if dialect.streams and _STREAM.search(said.replace("stream_options", "")):
        return replace(dialect, streams=False)
    return None


_LESSONS: tuple[Callable[[Dialect, _Refused], Dialect | None], ...] = (
    _without_tools,
    _without_system,
    _without_marks,
    _without_field,
)
