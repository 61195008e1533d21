"""Known providers: address, key variables, and properties.

`docs` of each entry is the source of its properties. None or `unknown`: not documented.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal
from urllib.parse import urlsplit

import msgspec

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

ALSO_CALLED: dict[str, ProviderName] = {
    "google": "gemini",
    "google-gemini": "gemini",
    "claude": "anthropic",
    "chatgpt": "openai",
    "grok": "xai",
    "x.ai": "xai",
    "azure-openai": "azure",
    "lm-studio": "lmstudio",
    "llama.cpp": "llamacpp",
    "llama-cpp": "llamacpp",
    "llama-server": "llamacpp",
    "other": "custom",
}
"""Alternative names of providers."""

Api = Literal["openai", "anthropic"]
Caching = Literal["automatic", "marks", "unknown"]


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One provider.

    `base_url` None: there is no common one. `keys`: variables of its key, the usual one first; empty: none is
    needed by default. `key_prefixes`: the beginnings of its keys. `lists_models` None: not documented.
    `caching`: automatic, by marks in the request, or unknown; `cache_note` has details. `models`: the
    beginnings of its own models' names. `family`: a pattern of the models that replace the default one where
    the provider's list does not have it. `responses`: the Responses API is documented as the one that keeps
    reasoning between calls. `local`: it runs on the user's machine. `convention`: its name in the
    semantic conventions for generative AI, if different.
    """

    name: ProviderName
    title: str
    docs: str
    base_url: str | None = None
    api: Api = "openai"
    keys: tuple[str, ...] = ()
    key_prefixes: tuple[str, ...] = ()
    keys_at: str = ""
    hosts: tuple[str, ...] = ()
    lists_models: bool | None = True
    caching: Caching = "unknown"
    cache_note: str = ""
    default_model: str | None = None
    family: str = ""
    responses: bool = False
    models: tuple[str, ...] = ()
    local: bool = False
    convention: str = ""

    @property
    def semantic_name(self) -> str:
        """The value of `gen_ai.provider.name`; for an unknown provider, the name of its API.

        Source: https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai
        """
        return self.convention or (self.api if self.name == "custom" else self.name)

    def usual_model(self, listed: Sequence[str]) -> str | None:
        """The default model: that of the table if it is listed, else the newest listed one of its family.

        An empty list says nothing: the table's model.
        """
        names = {name.removeprefix("models/"): name for name in listed}
        if not names or self.default_model in names:
            return self.default_model if not names else names[self.default_model or ""]
        fitting = [name for name in names if self.family and re.fullmatch(self.family, name)]
        return names[max(fitting, key=_version)] if fitting else None

    @property
    def needs_key(self) -> bool:
        """Whether every request needs a key."""
        return not self.local and self.name != "custom"


def _version(name: str) -> tuple[tuple[int, ...], int]:
    """The numbers in a name, for comparison; of equal ones the shorter name, without a date or a suffix."""
    return tuple(int(number) for number in re.findall(r"\d{1,3}(?!\d)", name)), -len(name)


_TABLE = (
    Provider(
        name="openai",
        title="OpenAI",
        docs="https://platform.openai.com/docs/api-reference",
        base_url="https://api.openai.com/v1",
        keys=("OPENAI_API_KEY",),
        key_prefixes=("sk-proj-", "sk-svcacct-", "sk-admin-"),
        keys_at="https://platform.openai.com/api-keys",
        hosts=("api.openai.com",),
        caching="automatic",
        cache_note="from 1,024 tokens on, for some minutes",
        default_model="gpt-6.1-terra",
        family=r"gpt-\d[\d.]*-(?:terra|mini)",
        responses=True,
        models=("gpt-", "o1", "o3", "o4", "chatgpt"),
    ),
    Provider(
        name="anthropic",
        title="Anthropic",
        docs="https://docs.anthropic.com/en/api/messages",
        base_url="https://api.anthropic.com",
        api="anthropic",
        keys=("ANTHROPIC_API_KEY",),
        key_prefixes=("sk-ant-",),
        keys_at="https://console.anthropic.com/settings/keys",
        hosts=("api.anthropic.com",),
        caching="marks",
        default_model="claude-sonnet-4-6",
        family=r"claude-sonnet-\d[\d-]*",
        models=("claude",),
    ),
    Provider(
        name="gemini",
        convention="gcp.gemini",
        title="Google Gemini",
        docs="https://ai.google.dev/gemini-api/docs/openai",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        key_prefixes=("AIza",),
        keys_at="https://aistudio.google.com/apikey",
        hosts=("generativelanguage.googleapis.com",),
        caching="automatic",
        cache_note="Gemini 2.5 and later, from 1,024 to 4,096 tokens on by model",
        default_model="gemini-3.8-flash",
        family=r"gemini-\d[\d.]*-flash",
        models=("gemini",),
    ),
    Provider(
        name="openrouter",
        title="OpenRouter",
        docs="https://openrouter.ai/docs/api-reference/overview",
        base_url="https://openrouter.ai/api/v1",
        keys=("OPENROUTER_API_KEY",),
        key_prefixes=("sk-or-",),
        keys_at="https://openrouter.ai/settings/keys",
        hosts=("openrouter.ai", "api.openrouter.ai"),
        caching="automatic",
        cache_note="as the model's own provider caches; upon marks for Claude",
    ),
    Provider(
        name="deepseek",
        title="DeepSeek",
        docs="https://api-docs.deepseek.com/",
        base_url="https://api.deepseek.com/v1",
        keys=("DEEPSEEK_API_KEY",),
        keys_at="https://platform.deepseek.com/api_keys",
        hosts=("api.deepseek.com",),
        caching="automatic",
        cache_note="on disk, for hours to days",
        default_model="deepseek-v4-flash",
        family=r"deepseek-v\d[\d.]*-flash",
        models=("deepseek-",),
    ),
    Provider(
        name="mistral",
        convention="mistral_ai",
        title="Mistral",
        docs="https://docs.mistral.ai/api/",
        base_url="https://api.mistral.ai/v1",
        keys=("MISTRAL_API_KEY",),
        keys_at="https://console.mistral.ai/api-keys",
        hosts=("api.mistral.ai",),
        cache_note="documented for requests with a prompt_cache_key",
        default_model="mistral-medium-latest",
        family=r"mistral-medium-[\w-]+",
        models=("mistral-", "ministral-", "magistral-", "codestral", "devstral", "open-mistral", "pixtral"),
    ),
    Provider(
        name="groq",
        title="Groq",
        docs="https://console.groq.com/docs/openai",
        base_url="https://api.groq.com/openai/v1",
        keys=("GROQ_API_KEY",),
        key_prefixes=("gsk_",),
        keys_at="https://console.groq.com/keys",
        hosts=("api.groq.com",),
        caching="automatic",
        cache_note="for some of its models; gone after 2 hours without use",
    ),
    Provider(
        name="xai",
        convention="x_ai",
        title="xAI",
        docs="https://docs.x.ai/docs/api-reference",
        base_url="https://api.x.ai/v1",
        keys=("XAI_API_KEY",),
        key_prefixes=("xai-",),
        keys_at="https://console.x.ai",
        hosts=("api.x.ai",),
        caching="automatic",
        default_model="grok-4.3",
        family=r"grok-\d(?:\.\d)?",  # 4.20 came before 4.3
        responses=True,
        models=("grok",),
    ),
    Provider(
        name="together",
        title="Together AI",
        docs="https://docs.together.ai/docs/openai-api-compatibility",
        base_url="https://api.together.xyz/v1",
        keys=("TOGETHER_API_KEY",),
        key_prefixes=("tgp_v1_",),
        keys_at="https://api.together.ai/settings/api-keys",
        hosts=("api.together.xyz", "api.together.ai"),
        caching="automatic",
        cache_note="cheaper for some of its models",
    ),
    Provider(
        name="fireworks",
        title="Fireworks AI",
        docs="https://docs.fireworks.ai/tools-sdks/openai-compatibility",
        base_url="https://api.fireworks.ai/inference/v1",
        keys=("FIREWORKS_API_KEY",),
        key_prefixes=("fw_",),
        keys_at="https://app.fireworks.ai/settings/users/api-keys",
        hosts=("api.fireworks.ai",),
        caching="automatic",
        models=("accounts/fireworks/",),
    ),
    Provider(
        name="azure",
        convention="azure.ai.openai",
        title="Azure OpenAI",
        docs="https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
        keys=("AZURE_OPENAI_API_KEY",),
        keys_at="https://portal.azure.com",
        hosts=(".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"),
        lists_models=None,
        caching="automatic",
        cache_note="as OpenAI's own",
    ),
    Provider(
        name="ollama",
        title="Ollama",
        docs="https://docs.ollama.com/api/openai-compatibility",
        base_url="http://127.0.0.1:11434/v1",
        keys=("OLLAMA_API_KEY",),
        cache_note="keeps the last prompts in memory, and does not report it",
        local=True,
    ),
    Provider(
        name="lmstudio",
        title="LM Studio",
        docs="https://lmstudio.ai/docs/developer/openai-compat",
        base_url="http://127.0.0.1:1234/v1",
        keys=("LM_API_TOKEN",),
        local=True,
    ),
    Provider(
        name="vllm",
        title="vLLM",
        docs="https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
        base_url="http://127.0.0.1:8000/v1",
        keys=("VLLM_API_KEY",),
        caching="automatic",
        cache_note="reported only where it was started with --enable-prompt-tokens-details",
        local=True,
    ),
    Provider(
        name="llamacpp",
        title="llama.cpp",
        docs="https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        base_url="http://127.0.0.1:8080/v1",
        keys=("LLAMA_API_KEY",),
        caching="automatic",
        cache_note="of each slot's last prompt, in memory",
        local=True,
    ),
    Provider(
        name="custom",
        title="another OpenAI-compatible endpoint",
        docs="https://platform.openai.com/docs/api-reference/chat",
        keys=("OPENAI_API_KEY",),
        lists_models=None,
    ),
)

PROVIDERS: dict[ProviderName, Provider] = {entry.name: entry for entry in _TABLE}
"""All providers by name, in the order in which they are offered."""

KEY_VARIABLES = frozenset(key for entry in _TABLE for key in entry.keys)
"""The key variables of all providers."""

_LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}
_LOCAL_PORTS: dict[int, ProviderName] = {11434: "ollama", 1234: "lmstudio"}
"""Ports used by one program only; 8000 and 8080 are used by many."""


@lru_cache(maxsize=64)
def provider_at(base_url: str) -> Provider:
    """The provider of the API at that address; `custom` if unknown."""
    parts = urlsplit(base_url)
    host = (parts.hostname or "").lower()
    for entry in _TABLE:
        if any(
            host == domain or (domain.startswith(".") and host.endswith(domain)) for domain in entry.hosts
        ):
            return entry
    if host in _LOCAL_HOSTS and parts.port in _LOCAL_PORTS:
        return PROVIDERS[_LOCAL_PORTS[parts.port]]
    return PROVIDERS["custom"]


def provider_of_model(model: str) -> Provider | None:
    """The provider whose own model has that name; None if the name is ambiguous."""
    name = model.lower().removeprefix("models/")
    return next((entry for entry in _TABLE if entry.models and name.startswith(entry.models)), None)


def provider_of_key(key: str) -> Provider | None:
    """The provider of a key with that form; None if the form is ambiguous."""
    return next(
        (entry for entry in _TABLE if entry.key_prefixes and key.startswith(entry.key_prefixes)), None
    )


def provider_named(name: str) -> Provider | None:
    """The provider with that name or alternative name; None if there is none."""
    normalized = name.strip().lower().replace(" ", "-")
    key = ALSO_CALLED.get(normalized, normalized)
    return next((entry for entry in _TABLE if entry.name == key), None)
