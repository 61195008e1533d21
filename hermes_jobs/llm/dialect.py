"""Dialects: how one model is called at one endpoint. Derived from its name and the settings;
`adaptation` changes one after a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from hermes_jobs.kernel.turns.rhythm import CacheTtl
from hermes_jobs.llm.attachments import Takes
from hermes_jobs.llm.families import DEFAULT_FAMILY, Effort, Family, family_of, host_and_port

ToolCalling = Literal["structured", "text"]

TEXT_MODELS = ("gemma", "llama", "phi", "smollm", "stablelm", "vicuna", "falcon", "olmo", "orca", "zephyr")
"""Families whose templates know no tools on most servers; a word of the model's name begins or ends like
this.
"""

_WORD = re.compile(r"[a-z]+")


def uses_text_tool_calls(model: str) -> ToolCalling:
    """`text` for a family of the table; the vendor part of a name, as in `meta-llama/…`, is ignored."""
    words = _WORD.findall(model.rpartition("/")[2].lower())
    return (
        "text"
        if any(word.startswith(TEXT_MODELS) or word.endswith(TEXT_MODELS) for word in words)
        else "structured"
    )


OPENAI_URL = "https://api.openai.com/v1"

Payloads = Literal["send", "again", "replace", "omit"]


class ApiOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The settings for calls of models; `auto`: decided by the model's name and by refusals.

    `sees`: whether models see pictures, by name; others do until their endpoint refuses one. `hears`: whether
    they hear sounds; of others, those of `hears_by_name` do.
    `insists_on_api`: an endpoint without that API is an error; else Chat Completions is used there.
    """

    api: Literal["chat", "responses"] = "chat"
    insists_on_api: bool = True
    provider: str = "auto"
    reasoning_effort: Effort | None = None
    tool_calling: Literal["auto", "structured", "text"] = "auto"
    prompt_cache: Literal["auto", "on", "off"] = "auto"
    cache_ttl: CacheTtl = "5m"
    sees: Mapping[str, bool] = {}
    hears: Mapping[str, bool] = {}


BY_NAME = ApiOptions()


class Dialect(msgspec.Struct, frozen=True):
    """The dialect of one model at one endpoint.

    `cache`: lifetime of marked prefixes, None for no marks. `marks_tools`: tool results get marks too.
    `payloads`: the payloads sent back in earlier messages: all; all, repeated once; the family's replacement
    for them; or none.
    `takes_effort`: parameters for reasoning are sent. `includes_reasoning`: the Responses API is asked for
    reasoning that can be sent back. `constrains`: a schema for the answer is sent as a parameter.
    `takes`: the attachments that are sent as they are.
    """

    streams: bool = True
    streams_usage: bool = True
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    tool_calls: ToolCalling = "structured"
    cache: CacheTtl | None = None
    marks_tools: bool = False
    system_role: bool = True
    takes_temperature: bool = True
    effort: Effort | None = None
    takes_effort: bool = False
    takes_cache_key: bool = False
    includes_reasoning: bool = False
    constrains: bool = True
    takes: Takes = Takes()
    payloads: Payloads = "send"
    family: Family = DEFAULT_FAMILY
    endpoint: str = ""
    api: Literal["chat", "responses"] = "chat"

    @property
    def payload_name(self) -> str:
        """The name of this dialect's payloads in the log."""
        return "responses" if self.api == "responses" else self.family.name


PLAIN = Dialect()
"""The dialect of an unknown endpoint."""


def first_dialect(base_url: str, model: str = "", manner: ApiOptions = BY_NAME) -> Dialect:
    """The first dialect to try. OpenAI's reasoning models refuse `max_tokens`;
    many endpoints know only that.
    """
    caches = manner.prompt_cache == "on" or (manner.prompt_cache == "auto" and "claude" in model.lower())
    family = family_of(base_url, model, manner.provider)
    is_openai = family.name == "openai"
    return Dialect(
        limit_field="max_completion_tokens" if is_openai else "max_tokens",
        tool_calls=uses_text_tool_calls(model) if manner.tool_calling == "auto" else manner.tool_calling,
        cache=manner.cache_ttl if caches else None,
        marks_tools=_marks_tools(family, model),
        takes_temperature=not (is_openai and family.effort("high", model)),
        takes_cache_key=is_openai,
        effort=manner.reasoning_effort,
        takes_effort=bool(manner.reasoning_effort or family.always),
        includes_reasoning=manner.api == "responses",
        takes=Takes(
            pictures=manner.sees.get(model, True),
            files=_takes_files(family, manner),
            sounds=manner.api == "chat" and manner.hears.get(model, hears_by_name(family.name, model)),
        ),
        streams_usage=family.streams_usage,
        family=family,
        endpoint=host_and_port(base_url),
        api=manner.api,
    )


def _takes_files(family: Family, manner: ApiOptions) -> bool:
    """Whether the endpoint reads documents; OpenRouter does so for every model."""
    return family.name == "openai" or (family.name == "openrouter" and manner.api == "chat")


_HEARING = re.compile(r"(?:^|/)(?:gemini-\d|gpt-(?:4o-(?:mini-)?)?audio)")


def hears_by_name(family: str, model: str) -> bool:
    """Whether the model is known to hear sounds at that provider: OpenAI's audio models do, and Gemini.

    https://platform.openai.com/docs/models/gpt-audio, https://ai.google.dev/gemini-api/docs/audio
    """
    return family in {"openai", "gemini", "openrouter"} and _HEARING.search(model) is not None


def _marks_tools(family: Family, model: str) -> bool:
    """Whether OpenRouter, or a proxy with its model names, passes a part's mark on to Anthropic."""
    return family.name == "openrouter" or model.lower().startswith("anthropic/")
