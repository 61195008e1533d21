"""The providers that are known by name."""

from __future__ import annotations

from typing import Literal

ProviderName = Literal[
    "openai",
    "anthropic",
    "gemini",
    "openrouter",
    "deepseek",
    "mistral",
    "groq",
    "xai",
    "together",
    "fireworks",
    "azure",
    "ollama",
    "lmstudio",
    "vllm",
    "llamacpp",
    "custom",
]

ALSO_CALLED = {
    "google": "gemini",
    "google-gemini": "gemini",
    "claude": "anthropic",
    "gpt": "openai",
    "grok": "xai",
    "x.ai": "xai",
    "azure-openai": "azure",
    "lm-studio": "lmstudio",
    "llama.cpp": "llamacpp",
    "llama-server": "llamacpp",
    "other": "custom",
}
"""Other names that people use for them."""
