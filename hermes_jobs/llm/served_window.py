"""Notices prompts that a server has cut without an error.

Ollama serves 4,096 tokens by default, cuts a longer prompt and answers with status 200; it ignores `num_ctx`
at its compatible endpoint (https://github.com/ollama/ollama/issues/17889, /3839). The count of prompt tokens
is then the window, or its half, and `/api/ps` names the window (https://docs.ollama.com/api/ps).
"""

from __future__ import annotations

import logging

import msgspec
import openai

from hermes_jobs.kernel.engine.ports import ModelRequest, Reply
from hermes_jobs.kernel.streams.context_windows import LEAST_WINDOW
from hermes_jobs.llm.client_options import ClientOptions
from hermes_jobs.llm.errors import model_error
from hermes_jobs.llm.providers import PROVIDERS, provider_named
from hermes_jobs.llm.transport import Address
from hermes_jobs.llm.windows import estimated_tokens
from hermes_jobs.system.struct_types import described

logger = logging.getLogger(__name__)

MUCH_LESS = 0.6
"""The share of our estimate below which a counted prompt was cut; code and tables count down to 0.7."""
LEAST_CUT = 1_500  # estimated tokens of the shortest prompt that is judged
SECONDS = 5.0
LARGER = (
    "Let the server serve a larger window (Ollama: OLLAMA_CONTEXT_LENGTH=32768), start a new session, or "
    "limit --toolsets."
)


class ServedWindows:
    """The windows that one server serves. Use from one loop only."""

    def __init__(self, options: ClientOptions, client: openai.AsyncOpenAI) -> None:
        self._options = options
        self._client = client
        self._served: dict[str, int | None] = {}
        self._warned: set[str] = set()
        named = provider_named(options.manner.provider)
        self._is_local = not (named or PROVIDERS["custom"]).needs_key

    async def checked(self, request: ModelRequest, reply: Reply) -> Reply:
        """The reply to a prompt that was read; a warning is logged where it seems to have been cut.

        Raises `ModelError` with kind context_overflow where the server's own window confirms that.
        """
        counted, size = reply.usage.prompt_tokens, estimated_tokens(request)
        if not self._is_local:
            return reply
        seems_cut = 0 < counted < size * MUCH_LESS and size > LEAST_CUT
        if not (seems_cut or self._options.manner.provider == "ollama"):
            return reply
        if request.model not in self._served:
            self._served[request.model] = await self._ask(request.model)
        served = self._served[request.model]
        if served is None:
            if seems_cut:
                self._warn(request, counted, size)
            return reply
        if served >= LEAST_WINDOW:
            self._options.windows.exceeded(request.model, served)
        if counted >= served - 1 or (seems_cut and size > served):
            figures = f"it serves {served:,}, and read {counted:,}"
            text = f"The server cut the prompt of about {size:,} tokens: {figures}."
            raise model_error("context_overflow", text, hint=LARGER, limit=served, usage=reply.usage)
        return reply

    def _warn(self, request: ModelRequest, counted: int, size: int) -> None:
        if request.model not in self._warned:
            self._warned.add(request.model)
            figures = f"counted {counted:,} tokens of a prompt of about {size:,}"
            logger.warning("%s: the server %s: it may have cut it. %s", request.model, figures, LARGER)

    async def _ask(self, model: str) -> int | None:
        """The window that Ollama has loaded the model with; None where it is not said."""
        root = Address.of(self._options.base_url).base_url.rstrip("/").removesuffix("/v1")
        try:
            running = await self._client.get(f"{root}/api/ps", cast_to=object, options={"timeout": SECONDS})
            models = msgspec.convert(running, described(_Running)).models
        except (openai.OpenAIError, msgspec.ValidationError, ValueError):
            return None
        names = {model, f"{model}:latest"}
        return next((entry.context_length for entry in models if names & {entry.name, entry.model}), None)


class _RunningModel(msgspec.Struct):
    name: str = ""
    model: str = ""
    context_length: int | None = None


class _Running(msgspec.Struct):
    models: list[_RunningModel] = []
