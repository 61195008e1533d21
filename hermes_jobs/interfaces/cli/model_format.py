"""Formats a model's provider, its prompt caching, and the cached share."""

from __future__ import annotations

from hermes_jobs.bootstrap.api_options import caching_of
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.settings import Choice, Settings


def endpoint_label(settings: Settings, choice: Choice) -> str:
    """The model's endpoint, by name or address."""
    if choice.base_url is None or choice.base_url == choice.at.base_url:
        return choice.at.title
    address = settings.secrets.redact(choice.base_url)
    return address if choice.provider == "custom" else f"{choice.at.title} ({address})"


def model_label(settings: Settings, model: str) -> str:
    """The model's provider, and its prompt caching."""
    choice = settings.choice(model)
    if choice.rehearsal:
        return "no language model; `hermes-jobs setup` connects one"
    return f"{endpoint_label(settings, choice)}; prompt caching: {caching_of(settings, choice).description}"


def tokens_label(usage: Usage) -> str:
    """Input and output tokens, with the reported share read from the cache."""
    text = f"{usage.prompt_tokens:,} in"
    if usage.prompt_tokens:
        text += f" ({usage.cache_read_tokens / usage.prompt_tokens:.0%} read from the cache)"
    text += f", {usage.output_tokens:,} out"
    return f"{text} ({usage.reasoning_tokens:,} reasoning)" if usage.reasoning_tokens else text
