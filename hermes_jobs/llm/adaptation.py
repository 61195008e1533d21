"""The dialect after a refusal: without what the endpoint says, in its own words, that it does not take."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec.structs import replace

from hermes_jobs.llm.attachments import without_attachments
from hermes_jobs.llm.dialect import BY_NAME, ApiOptions, Dialect
from hermes_jobs.llm.families import with_filler, with_id_and_role_rules, without_fields


def adapt(dialect: Dialect, status: int | None, message: str, manner: ApiOptions = BY_NAME) -> Dialect | None:
    """The dialect without the refused feature; None if the refusal names nothing that can be left out."""
    if is_missing_api(dialect, status, message):
        chat = replace(dialect, api="chat", includes_reasoning=False)
        return None if insists(manner, dialect, chat) else chat
    refusal = _Refusal(message.lower(), is_about_the_request=status in {400, 422})
    adaptations = (learn(dialect, refusal) for learn in _LESSONS)
    changed = next((adaptation for adaptation in adaptations if adaptation is not None), None)
    if changed is None or insists(manner, dialect, changed):
        return None
    return changed


def is_missing_api(dialect: Dialect, status: int | None, message: str) -> bool:
    """Whether the endpoint has no Responses API; a model that does not exist is a 404 too, and is named."""
    return dialect.api == "responses" and status in {404, 405} and "model" not in message.lower()


def concerns_payloads(dialect: Dialect, changed: Dialect) -> bool:
    """Whether the two differ in the payloads of earlier messages."""
    before, after = dialect.family, changed.family
    return (dialect.payloads, before.fields, before.filler, before.call_filler) != (
        changed.payloads,
        after.fields,
        after.filler,
        after.call_filler,
    )


def insists(manner: ApiOptions, dialect: Dialect, changed: Dialect) -> bool:
    """Whether the settings require the refused feature: then the refusal is final."""
    return (
        (manner.tool_calling != "auto" and changed.tool_calls != dialect.tool_calls)
        or (manner.prompt_cache != "auto" and changed.cache != dialect.cache)
        or (manner.insists_on_api and changed.api != dialect.api)
    )


_REFUSALS = re.compile(
    r"unsupported|not (?:yet )?support|unrecognized|unknown|unexpected|not permitted|not allowed"
    r"|invalid (?:field|param)|must be verified to stream|must be false|extra inputs|extra_forbidden"
)


_TOO_LARGE = re.compile(r"too large|(?:above|over|beyond|exceeds|(?:more|greater|larger) than) \d")
"""Messages about the value of a limit, not about its name."""


_STREAM = re.compile(r"\bstream(?:ing|ed)?\b")


_TOOLS = (
    r"[`'\"]?(?:tools?|tool[ _-]?(?:use|call(?:s|ing)?)|functions?|function[ _-]?call(?:s|ing)?)\b[`'\"]?"
)


NO_TOOLS = re.compile(
    rf"{_TOOLS}(?: param(?:eter)?s?)? (?:(?:is|are) )?(?:currently )?(?:disabled|unavailable|unsupported"
    r"|not (?:\w+ )?(?:supported|enabled|available|allowed|implemented|permitted))"
    rf"|(?:not|n't|cannot) (?:\w+ )?(?:support|accept|allow|take|handle|use) (?:\w+ )?{_TOOLS}"
    r"|(?:unsupported|unknown|unrecognized|unexpected)(?: \w+){0,3}:? [`'\"]?tools?[`'\"]?(?![.\[\w])"
    r"|support tool use|tools param requires --jinja|requires --enable-auto-tool-choice"
)
"""Messages of Ollama, OpenRouter, llama.cpp without `--jinja` or as a library, vLLM without a parser for the
model's calls, and gateways.
"""


_NO_SYSTEM = re.compile(
    r"system role (?:is )?not supported|developer instruction is not enabled"
    r"|(?:does not|doesn't) support (?:the )?system"
)
"""Messages of the templates of Gemma's first versions, and of Google's own endpoint for Gemma."""


class _Refusal(msgspec.Struct, frozen=True):
    """A refusal's message in lower case. Many servers send status 5xx for faults in the request."""

    message: str
    is_about_the_request: bool


def _without_tools(dialect: Dialect, refusal: _Refusal) -> Dialect | None:
    is_meant = dialect.tool_calls == "structured" and NO_TOOLS.search(refusal.message)
    return replace(dialect, tool_calls="text") if is_meant else None


def _without_system(dialect: Dialect, refusal: _Refusal) -> Dialect | None:
    is_meant = dialect.system_role and _NO_SYSTEM.search(refusal.message)
    return replace(dialect, system_role=False) if is_meant else None


def _without_marks(dialect: Dialect, refusal: _Refusal) -> Dialect | None:
    if dialect.cache is None or not refusal.is_about_the_request or "cache_control" not in refusal.message:
        return None
    return replace(dialect, marks_tools=False) if dialect.marks_tools else replace(dialect, cache=None)


def _without_schema(dialect: Dialect, refusal: _Refusal) -> Dialect | None:
    """Servers refuse the parameter, the schema's keywords, its grammar, or tools beside it, by any status."""
    is_meant = dialect.constrains and _SCHEMA.search(refusal.message)
    return replace(dialect, constrains=False) if is_meant else None


def _without_attachments(dialect: Dialect, refusal: _Refusal) -> Dialect | None:
    """Servers refuse pictures and documents by any status."""
    takes = without_attachments(dialect.takes, refusal.message)
    return None if takes is None else replace(dialect, takes=takes)


def _without_field(dialect: Dialect, refusal: _Refusal) -> Dialect | None:
    message = refusal.message
    if not refusal.is_about_the_request or not _REFUSALS.search(message):
        return None
    for name, pattern in _FIELDS:
        if getattr(dialect, name) and re.search(pattern, message):
            return replace(dialect, **{name: False})
    if dialect.limit_field in message and not _TOO_LARGE.search(message):
        other: Literal["max_tokens", "max_completion_tokens"] = (
            "max_tokens" if dialect.limit_field == "max_completion_tokens" else "max_completion_tokens"
        )
        return replace(dialect, limit_field=other)
    if dialect.streams and _STREAM.search(message.replace("stream_options", "")):
        return replace(dialect, streams=False)
    return None


_SCHEMA = re.compile(
    r"response[_ ]format|text\.format|json[_ ]?schema|schema for|structured[_ ]output|guided|grammar"
    r"|response mime type"
)
"""Names of the parameter and of what it leads to: OpenAI, DeepSeek, Groq, vLLM, llama.cpp, Gemini."""


_FIELDS = (
    ("streams_usage", r"stream_options|include_usage"),
    ("takes_temperature", r"temperature"),
    ("takes_cache_key", r"prompt_cache_key"),
    ("includes_reasoning", r"encrypted content is not supported|\binclude\b"),
    ("takes_effort", r"reasoning[_.]effort|\bthinking\b|enable_thinking|reasoning_split|\breasoning\b"),
)
"""Features that are sent until an endpoint refuses them, with their names in refusals."""


_ATTACHED = re.compile(
    r"thought[_ ]signature|encrypted[_ ]content|reasoning_(?:content|details)|extra_content"
    r"|(?:signature|block).{0,20}thinking|thinking.{0,20}(?:signature|block)"
    r"|of type 'reasoning'|'reasoning' item|messages?\S*\breasoning\b|property 'reasoning'"
)
"""Names of payload fields: Gemini, OpenAI, DeepSeek, Moonshot, OpenRouter with Anthropic behind it."""


def _with_other_order(dialect: Dialect, refusal: _Refusal) -> Dialect | None:
    changed = with_id_and_role_rules(dialect.family, refusal.message)
    return (
        replace(dialect, family=changed)
        if refusal.is_about_the_request and changed != dialect.family
        else None
    )


def _with_other_payloads(dialect: Dialect, refusal: _Refusal) -> Dialect | None:
    """The dialect after a refused payload: a missing part, an unknown field, or an invalid value."""
    if not refusal.is_about_the_request or not _ATTACHED.search(refusal.message):
        return None
    filled = with_filler(dialect.family, refusal.message)
    if filled != dialect.family:
        return replace(dialect, family=filled)
    if _REFUSALS.search(refusal.message):
        bare = without_fields(dialect.family)
        return replace(dialect, family=bare) if bare != dialect.family else None
    if dialect.payloads == "send" and re.search(r"corrupted|invalid.{0,20}thought", refusal.message):
        return replace(dialect, payloads="again")
    if dialect.payloads in {"send", "again"}:
        return replace(dialect, payloads="replace" if dialect.family.fills else "omit")
    return replace(dialect, payloads="omit") if dialect.payloads == "replace" else None


_LESSONS: tuple[Callable[[Dialect, _Refusal], Dialect | None], ...] = (
    _without_schema,
    _without_tools,
    _without_attachments,
    _without_system,
    _without_marks,
    _with_other_order,
    _with_other_payloads,
    _without_field,
)
