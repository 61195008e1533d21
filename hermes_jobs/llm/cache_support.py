"""Prompt caching of an endpoint, as far as it is known before the first request."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.kernel.turns.rhythm import CacheTtl
from hermes_jobs.llm.dialect import OPENAI_URL, ApiOptions, first_dialect
from hermes_jobs.llm.providers import PROVIDERS, ProviderName

Kind = Literal["marks", "automatic", "off", "none"]


class PromptCaching(msgspec.Struct, frozen=True):
    """How prompts are cached. `kind`: by marks in the request, with the lifetime `ttl`; by the endpoint
    itself; by marks that are switched off; or unknown. `note` has details.
    """

    kind: Kind
    ttl: CacheTtl | Literal["auto"] | None = None
    note: str = ""

    @property
    def description(self) -> str:
        """A short description for users."""
        match self.kind:
            case "marks":
                kept = "5m or 1h, by the session's rests" if self.ttl == "auto" else self.ttl
                return f"marked, kept for {kept}"
            case "automatic":
                return "automatic"
            case "off":
                return "off (model.prompt_cache)"
            case "none":
                return "not at this endpoint"


def prompt_caching(
    provider: ProviderName, base_url: str | None, model: str, manner: ApiOptions
) -> PromptCaching:
    """The prompt caching of the model at its endpoint; `base_url` None is OpenAI's own."""
    entry = PROVIDERS[provider]
    if entry.api == "anthropic":
        off = manner.prompt_cache == "off"
        return PromptCaching("off") if off else PromptCaching("marks", manner.cache_ttl)
    ttl = first_dialect(base_url or OPENAI_URL, model, manner).cache
    if ttl is not None:
        return PromptCaching("marks", ttl)
    kind: Kind = "automatic" if entry.caching == "automatic" else "none"
    return PromptCaching(kind, note=entry.cache_note)
