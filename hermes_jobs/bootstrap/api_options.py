"""How the settings want a model to be called, and how its endpoint caches prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from hermes_jobs.settings import Choice, Settings

if TYPE_CHECKING:
    from hermes_jobs.kernel.turns.rhythm import CacheTtl
    from hermes_jobs.llm.cache_support import PromptCaching
    from hermes_jobs.llm.dialect import ApiOptions


def caching_of(settings: Settings, choice: Choice) -> PromptCaching:
    """How the model's endpoint caches prompts."""
    from hermes_jobs.llm.cache_support import prompt_caching

    found = prompt_caching(choice.provider, choice.base_url, choice.model, api_options(settings, choice))
    return replace(found, ttl="auto") if found.ttl and settings.model.cache_ttl == "auto" else found


def cache_ttl_of(settings: Settings, model: str) -> CacheTtl | None:
    """How long the model's endpoint keeps a prompt, as far as that is known; None: it does not."""
    choice = settings.choice(model)
    found = None if choice.rehearsal else caching_of(settings, choice)
    if found is None or found.kind in {"off", "none"}:
        return None
    return "1h" if found.ttl == "1h" else "5m"


def api_options(settings: Settings, choice: Choice) -> ApiOptions:
    """How the settings want that model to be called."""
    from hermes_jobs.llm.dialect import ApiOptions

    model = settings.model
    return ApiOptions(
        api=_api(settings, choice),
        insists_on_api=model.api != "auto",
        provider=choice.provider,
        reasoning_effort=model.reasoning_effort,
        tool_calling=model.tool_calling,
        prompt_cache=model.prompt_cache,
        cache_ttl="5m" if model.cache_ttl == "auto" else model.cache_ttl,
        sees=settings.attachments.sees,
        hears=settings.attachments.hears,
    )


def _api(settings: Settings, choice: Choice) -> Literal["chat", "responses"]:
    """The configured API; by itself, the one with which the provider at that address keeps reasoning, but
    not for models that hear: OpenAI has those in Chat Completions alone."""
    from hermes_jobs.llm.dialect import OPENAI_URL, hears_by_name
    from hermes_jobs.llm.providers import provider_at

    if settings.model.api != "auto":
        return settings.model.api
    provider = provider_at(choice.base_url or OPENAI_URL)
    hears = settings.attachments.hears.get(choice.model, hears_by_name(provider.name, choice.model))
    return "responses" if provider.responses and not hears else "chat"
