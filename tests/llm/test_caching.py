"""What is told of prompt caching before anything is asked."""

import pytest

from hermes_jobs.llm.cache_support import PromptCaching, prompt_caching
from hermes_jobs.llm.dialect import ApiOptions
from hermes_jobs.llm.providers import PROVIDERS, ProviderName

LOCAL = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("provider", "base_url", "model", "manner", "kind", "told"),
    [
        ("openai", None, "gpt-5-mini", {}, "automatic", "automatic"),
        ("deepseek", "https://api.deepseek.com/v1", "deepseek-chat", {}, "automatic", "automatic"),
        ("gemini", PROVIDERS["gemini"].base_url, "gemini-2.5-flash", {}, "automatic", "automatic"),
        ("anthropic", "https://api.anthropic.com", "claude-x", {}, "marks", "marked, kept for 5m"),
        ("anthropic", LOCAL, "claude-x", {"cache_ttl": "1h"}, "marks", "marked, kept for 1h"),
        ("anthropic", LOCAL, "claude-x", {"prompt_cache": "off"}, "off", "off (model.prompt_cache)"),
        (
            "openrouter",
            "https://openrouter.ai/api/v1",
            "anthropic/claude-x",
            {},
            "marks",
            "marked, kept for 5m",
        ),
        ("openrouter", "https://openrouter.ai/api/v1", "openai/gpt-5", {}, "automatic", "automatic"),
        ("custom", LOCAL, "qwen3", {}, "none", "not at this endpoint"),
        ("ollama", PROVIDERS["ollama"].base_url, "qwen3", {}, "none", "not at this endpoint"),
        ("custom", LOCAL, "qwen3", {"prompt_cache": "on"}, "marks", "marked, kept for 5m"),
    ],
)
def test_caching_is_described_by_provider(
    provider: ProviderName, base_url: str | None, model: str, manner: dict[str, str], kind: str, told: str
) -> None:
    found = prompt_caching(provider, base_url, model, ApiOptions(**manner))  # type: ignore[arg-type]
    assert isinstance(found, PromptCaching)
    assert (found.kind, found.description) == (kind, told)
