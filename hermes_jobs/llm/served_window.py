"""Knows the windows that a server of one's own serves, and notices prompts that it has cut without an error.

Ollama serves 4,096 tokens by default, cuts a longer prompt and answers with status 200; it ignores `num_ctx`
at its compatible endpoint (https://github.com/ollama/ollama/issues/17889, /3839). The count of prompt tokens
is then the window, or its half.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict

from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ModelRequest, Reply
from hermes_jobs.kernel.turns.messages import AssistantMessage
from hermes_jobs.llm.client_options import ClientOptions
from hermes_jobs.llm.errors import model_error
from hermes_jobs.llm.openai_sdk import openai
from hermes_jobs.llm.providers import PROVIDERS, provider_named
from hermes_jobs.llm.server_windows import ServerWindows, is_near
from hermes_jobs.llm.windows import estimated_tokens

logger = logging.getLogger(__name__)

MUCH_LESS = 0.6
"""The share of our estimate below which a counted prompt was cut. Real tokenizers count English prose at 0.7
of it, source code at 1, JSON at 1.2; tables of blanks and Russian at 0.4, beside which there are tools."""
LESS = 0.8
"""The share of an earlier count below which a longer prompt with the same beginning was cut."""
LEAST_CUT = 1_500  # estimated tokens of the shortest prompt that is judged
MAX_SESSIONS = 64
FRESH = 1.0  # seconds: sessions that begin together ask once
LARGER = (
    "Let the server serve a larger window (Ollama: OLLAMA_CONTEXT_LENGTH=32768, or a Modelfile with "
    "PARAMETER num_ctx 32768; llama.cpp: --ctx-size; LM Studio: Context Length), start a new session, or "
    "limit --toolsets."
)


class ServedWindows:
    """The windows that one server serves. Use from one loop only."""

    def __init__(self, options: ClientOptions, client: openai.AsyncOpenAI) -> None:
        self._options = options
        self._served: dict[str, int | None] = {}
        self._asked_at: dict[str, float] = {}
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._logged: set[str] = set()
        self._counted: dict[tuple[str, str], tuple[ModelRequest, int]] = {}
        provider = options.manner.provider
        named = provider_named(provider)
        self._is_own = not (named or PROVIDERS["custom"]).needs_key
        self._is_asked = self._is_own and (provider not in {"", "custom"} or is_near(options.base_url))
        self._server = ServerWindows(options.base_url, provider, client)

    async def read(self, model: str) -> int | None:
        """Ask the server for the model's window, at most once in `FRESH` seconds; None where it is not one's
        own, or does not say it."""
        if self._is_asked:
            async with self._asking[model]:
                now = asyncio.get_running_loop().time()
                if now - self._asked_at.get(model, float("-inf")) >= FRESH:
                    self._served[model] = await self._server.of(model)
                    self._asked_at[model] = now
        return self._served.get(model)

    async def checked(self, request: ModelRequest, reply: Reply) -> Reply:
        """The reply to a prompt that was read; with a warning where it was cut, by earlier counts.

        Raises `ModelError` with kind context_overflow where the server's own window confirms that.
        """
        if not self._is_own:
            return reply
        counted, size = reply.usage.prompt_tokens, estimated_tokens(request)
        fell = self._fell(request, counted)
        seems_cut = fell or (size > LEAST_CUT and 0 < counted < size * MUCH_LESS)
        if request.model not in self._served:
            await self.read(request.model)
        served = self._served.get(request.model)
        if served is None:
            if seems_cut and not fell:
                self._log(request.model, counted, size)
            return _warned(reply, counted, size) if fell else reply
        self._options.windows.serves(request.model, served)
        if counted >= served - 1 or (seems_cut and size > served):
            figures = f"it serves {served:,}, and read {counted:,}"
            text = f"The server cut the prompt of about {size:,} tokens: {figures}."
            raise model_error("context_overflow", text, hint=LARGER, limit=served, usage=reply.usage)
        return reply

    def _fell(self, request: ModelRequest, counted: int) -> bool:
        """Whether this prompt only adds to an earlier one of its session, and was counted much shorter.

        The comparison needs no estimate, which prompts in many languages are far from.
        """
        key = (request.model, request.session)
        earlier = self._counted.get(key)
        if not counted or not request.session:
            return False
        if earlier is None and len(self._counted) >= MAX_SESSIONS:
            self._counted.pop(next(iter(self._counted)))
        fell = earlier is not None and _continues(earlier[0], request) and counted < earlier[1] * LESS
        if not fell:
            self._counted[key] = (replace(request, contents={}), counted)  # without the bytes of pictures
        return fell

    def _log(self, model: str, counted: int, size: int) -> None:
        if model not in self._logged:
            self._logged.add(model)
            figures = f"counted {counted:,} tokens of a prompt of about {size:,}"
            logger.warning("%s: the server %s: it may have cut it. %s", model, figures, LARGER)


def _warned(reply: Reply, counted: int, size: int) -> Reply:
    figures = f"it counted {counted:,} tokens of a prompt of about {size:,}"
    return replace(reply, warning=f"The server cut the prompt: {figures}. {LARGER}")


def _continues(earlier: ModelRequest, later: ModelRequest) -> bool:
    """Whether the later one holds the earlier one whole; not where templates leave reasoning out."""
    length = len(earlier.messages)
    return (
        later.system_prompt == earlier.system_prompt
        and len(later.offered) >= len(earlier.offered)
        and len(later.messages) >= length
        and later.messages[:length] == earlier.messages
        and not any(isinstance(each, AssistantMessage) and each.payload for each in earlier.messages)
    )
