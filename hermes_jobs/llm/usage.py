"""Maps the usage reports of providers to the canonical form.

Three shapes: Anthropic (`input_tokens` without the cached ones), OpenAI Responses (`input_tokens` with them)
and Chat Completions (`prompt_tokens` with them). No report raises an error or gives a negative count.
Source of Anthropic's: https://platform.claude.com/docs/en/build-with-claude/prompt-caching (`usage`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import UNSET

from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage

_ANTHROPIC = frozenset({"cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation"})
_MOST = 2**53 - 1  # the largest exact integer in JSON; more is not a token count


def canonical_usage(reported: object) -> Usage:
    """The canonical usage of a provider's report; `NO_USAGE` for an unusable one."""
    if not isinstance(reported, Mapping):
        return NO_USAGE
    if "prompt_tokens" in reported or "completion_tokens" in reported:
        return _chat_completions(reported)
    if "input_tokens_details" in reported or "output_tokens_details" in reported:
        # Anthropic too reports details of its output; its cached tokens are counted separately.
        return _anthropic(reported) if _ANTHROPIC & reported.keys() else _responses(reported)
    return _anthropic(reported)


def _chat_completions(reported: Mapping[object, object]) -> Usage:
    details = _mapping(reported, "prompt_tokens_details")
    cached = _first(
        _count(details, "cached_tokens"),
        _count(reported, "prompt_cache_hit_tokens"),  # DeepSeek
        _count(reported, "cache_read_input_tokens"),  # proxies in front of Anthropic
        _count(reported, "cached_tokens"),  # Kimi: https://platform.moonshot.ai/docs/api/chat
    )
    cache_written = _first(
        _count(details, "cache_write_tokens"),
        _count(details, "cache_creation_tokens"),
        _count(reported, "cache_creation_input_tokens"),
    )
    prompt, output = _count(reported, "prompt_tokens"), _count(reported, "completion_tokens")
    reasoning = _count(_mapping(reported, "completion_tokens_details"), "reasoning_tokens")
    if reasoning and _count(reported, "total_tokens") == prompt + output + reasoning:
        output += reasoning  # xAI reports them separately: https://docs.x.ai/docs/guides/reasoning
    beyond = _count(reported, "total_tokens") - prompt - output
    if beyond > 0 and not reasoning and beyond not in {cached, cache_written, cached + cache_written}:
        # Gemini's compatible endpoint counts thoughts in the total alone, and bills them as output:
        # https://ai.google.dev/gemini-api/docs/thinking#pricing
        output, reasoning = output + beyond, beyond
    sent = max(0, prompt - cached - cache_written)
    heard = min(_count(details, "audio_tokens"), sent) or UNSET
    return Usage(sent, output, cached, cache_written, reasoning, audio_tokens=heard)


def _responses(reported: Mapping[object, object]) -> Usage:
    details = _mapping(reported, "input_tokens_details")
    cached = _count(details, "cached_tokens")
    cache_written = _first(_count(details, "cache_creation_tokens"), _count(details, "cache_write_tokens"))
    return Usage(
        max(0, _count(reported, "input_tokens") - cached - cache_written),
        _count(reported, "output_tokens"),
        cached,
        cache_written,
        _count(_mapping(reported, "output_tokens_details"), "reasoning_tokens"),
    )


def _anthropic(reported: Mapping[object, object]) -> Usage:
    lasting = _mapping(reported, "cache_creation")
    hour = _count(lasting, "ephemeral_1h_input_tokens")
    cache_written = _first(
        _count(reported, "cache_creation_input_tokens"),
        _count(lasting, "ephemeral_5m_input_tokens") + hour,
    )
    return Usage(
        _count(reported, "input_tokens"),
        _count(reported, "output_tokens"),
        _count(reported, "cache_read_input_tokens"),
        cache_written,
        _count(_mapping(reported, "output_tokens_details"), "thinking_tokens"),
        min(hour, cache_written) or UNSET,
    )


def _mapping(reported: Mapping[object, object], name: str) -> Mapping[object, object]:
    value = reported.get(name)
    return value if isinstance(value, Mapping) else {}


def _first(*counts: int) -> int:
    return next((count for count in counts if count), 0)


def _count(reported: Mapping[object, object], name: str) -> int:
    value = reported.get(name)
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < len(str(_MOST)) else 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return min(max(0, int(value)), _MOST)
