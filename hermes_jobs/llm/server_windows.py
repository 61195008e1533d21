"""Asks a server of one's own for the window that it serves a model with. Each kind says it in its own way.

vLLM        `/v1/models`, `max_model_len` (https://docs.vllm.ai/en/latest/api/vllm/entrypoints/openai/)
llama.cpp   `/v1/models`, `meta.n_ctx`; where that is missing `/props`, `default_generation_settings.n_ctx`,
            which is that of one slot (https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md)
LM Studio   `/api/v0/models`, `loaded_context_length` (https://lmstudio.ai/docs/developer/rest/endpoints)
Ollama      `/api/ps`, `context_length` of a loaded model (https://docs.ollama.com/api/ps); of another one
            `num_ctx` of its Modelfile (`/api/show`), else it is loaded by a request without a prompt
            (https://docs.ollama.com/faq), as its first call would do
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from hermes_jobs.llm.openai_sdk import openai
from hermes_jobs.llm.transport import Address

SECONDS = 5.0
LOADING_SECONDS = 60.0
"""For a model that is read from the disk; then the session starts without knowing its window."""
_OWNERS = {"llamacpp": "llamacpp", "library": "ollama", "organization_owner": "lmstudio"}
"""What servers put into `owned_by` of their list."""


class ServerWindows:
    """Asks one server, through the client of its calls. Use from one loop only."""

    def __init__(self, base_url: str, provider: str, client: openai.AsyncOpenAI) -> None:
        self._base_url = Address.of(base_url).base_url.rstrip("/")
        self._root = self._base_url.removesuffix("/v1")
        self._provider = provider
        self._client = client

    async def of(self, model: str) -> int | None:
        """The window in tokens; None where the server does not say it, or not yet. Does not raise."""
        with suppress(openai.OpenAIError, ValueError):
            if self._provider == "ollama":
                return await self._ollama(model)
            return await self._listed(model)
        return None

    async def _listed(self, model: str) -> int | None:
        """The window in the list of models, or where the kind of server that the list shows has it."""
        entry = _entry(await self._get(f"{self._base_url}/models"), "data", model)
        window = _number(entry.get("max_model_len")) or _number(_part(entry, "meta").get("n_ctx"))
        if window is not None:
            return window
        match _OWNERS.get(str(entry.get("owned_by")), self._provider):
            case "llamacpp":
                props = await self._get(f"{self._root}/props")
                return _number(_part(props, "default_generation_settings").get("n_ctx"))
            case "lmstudio":
                loaded = _entry(await self._get(f"{self._root}/api/v0/models"), "data", model)
                return _number(loaded.get("loaded_context_length"))
            case "ollama":
                return await self._ollama(model)
            case _:
                return None

    async def _ollama(self, model: str) -> int | None:
        if (window := await self._running(model)) is not None:
            return window
        shown = await self._post("/api/show", model, SECONDS)
        in_modelfile = re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters")), re.MULTILINE)
        if in_modelfile is not None:
            return int(in_modelfile[1])
        await self._post("/api/generate", model, LOADING_SECONDS)
        return await self._running(model)

    async def _running(self, model: str) -> int | None:
        return _number(_entry(await self._get(f"{self._root}/api/ps"), "models", model).get("context_length"))

    async def _get(self, url: str) -> Mapping[str, Any]:
        return _mapping(await self._client.get(url, cast_to=object, options={"timeout": SECONDS}))

    async def _post(self, path: str, model: str, seconds: float) -> Mapping[str, Any]:
        body = {"model": model, "stream": False}
        url = f"{self._root}{path}"
        return _mapping(await self._client.post(url, cast_to=object, body=body, options={"timeout": seconds}))


def is_near(base_url: str) -> bool:
    """Whether the host is this machine or in a private network, by its name alone."""
    host = (urlsplit(base_url).hostname or "").lower()
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".localhost"))


def _entry(answer: Mapping[str, Any], key: str, model: str) -> Mapping[str, Any]:
    """The model's entry in a list; of a server with one model that one, which answers to any name."""
    listed = answer.get(key)
    entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    names = {model, f"{model}:latest"}
    fitting = (entry for entry in entries if names & {entry.get(field) for field in ("id", "name", "model")})
    alone = entries[0] if len(entries) == 1 and entries[0].get("owned_by") == "llamacpp" else {}
    return next(fitting, alone)


def _mapping(answer: object) -> Mapping[str, Any]:
    return answer if isinstance(answer, Mapping) else {}


def _part(answer: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return _mapping(answer.get(key))


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
