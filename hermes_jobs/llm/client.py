"""An endpoint as the engine's `Model`: callers block in threads, one asyncio loop does the I/O."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Protocol

from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import Cancel, ModelError, ModelRequest, Reply
from hermes_jobs.llm.attachments import digests_to_send
from hermes_jobs.llm.client_options import ANTHROPIC_URL, ClientOptions
from hermes_jobs.llm.dialect import BY_NAME, OPENAI_URL, ApiOptions
from hermes_jobs.llm.errors import model_error
from hermes_jobs.llm.loop import LoopThread
from hermes_jobs.llm.refusals import Refusals
from hermes_jobs.llm.windows import Windows, known_window

UNUSABLE_KEY = "The key holds characters that no key has: only a part of it was copied, or more than it."


class AsyncModel(Protocol):
    """A model that is called on one asyncio loop."""

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """Make one call; see `Model.reply`. Cancelling the task ends the call."""

    async def served_window(self, model: str) -> int | None:
        """The window that the server says; None where it is not asked, or does not say it."""

    async def close(self) -> None:
        """Close the connections."""


class EndpointModel:
    """A `Model` over an `AsyncModel` that `_connect` creates, in `warm` or at the first call.

    Importing a provider's client takes up to half a second: `_connect` imports it.
    """

    def __init__(  # noqa: PLR0913 - the options of a client
        self,
        *,
        api_key: str | None,
        base_url: str | None = None,
        idle_timeout: float = 120.0,
        timeout: float | None = None,
        manner: ApiOptions = BY_NAME,
        windows: Windows | None = None,
        refusals: Refusals | None = None,
        watch: Callable[[Any], None] | None = None,
        content: Callable[[str], bytes | None] = lambda digest: None,
    ) -> None:
        """See `ClientOptions`; `base_url` None is the provider's own."""
        url = self._address(base_url)
        self._options = ClientOptions(
            api_key=api_key or "",
            base_url=url,
            windows=windows or Windows(override=None, known_window=lambda model: known_window(model, url)),
            refusals=refusals or Refusals(),
            idle_timeout=idle_timeout,
            timeout=timeout,
            manner=manner,
            watch=watch,
            content=content,
        )
        self._loop = LoopThread()
        self._lock = threading.Lock()
        self._made: AsyncModel | None = None
        self._closed = False

    def warm(self) -> None:
        """Import the client and create it ahead of the first call, which reports what keeps it from that."""
        with suppress(ModelError):
            self._model()

    def served_window(self, model: str) -> int | None:
        """Ask the server for the model's window, in tokens; None where it is not asked, or does not say."""
        try:
            window = self._loop.submit(self._model().served_window(model)).result()
        except CancelledError:  # it was closed
            return None
        if window is not None:
            self._options.windows.serves(model, window)
        return window

    def close(self) -> None:
        """Close the connections; running calls fail, later ones raise RuntimeError."""
        with self._lock:
            model, self._made = self._made, None
            self._closed = True
        if model is not None:
            self._loop.submit(model.close()).result()
        self._loop.close()

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        """See `Model.reply`. `on_text` is called in the calling thread."""
        key = self._options.api_key
        if not (key.isascii() and key.isprintable()):
            raise model_error("auth", UNUSABLE_KEY)
        request = self._with_contents(request)
        deltas: SimpleQueue[str | None] = SimpleQueue()
        future = self._loop.submit(self._model().reply(request, deltas.put))
        future.add_done_callback(lambda _: deltas.put(None))
        take_back = cancel.on_cancel(partial(_stop, future))
        try:
            while (delta := deltas.get()) is not None and not future.cancelled():
                on_text(delta)
            return future.result()
        except CancelledError:
            raise cancelled(cancel) from None
        finally:
            take_back()
            future.cancel()  # if on_text raised: the rest is not used
            self._options.refusals.save()

    def _with_contents(self, request: ModelRequest) -> ModelRequest:
        """The request with the bytes of its attachments, read in the calling thread, without lost ones."""
        found = {digest: self._options.content(digest) for digest in digests_to_send(request.messages)}
        if not found:
            return request
        contents = {digest: content for digest, content in found.items() if content is not None}
        return replace(request, contents=contents)

    def _model(self) -> AsyncModel:
        with self._lock:
            if self._closed:
                raise RuntimeError("The model was closed; make a new one.")
            if self._made is None:
                self._made = self._connect(self._options)
            return self._made

    def _address(self, base_url: str | None) -> str:
        """The address of the API."""
        raise NotImplementedError

    def _connect(self, options: ClientOptions) -> AsyncModel:
        """The client, whose module is imported here."""
        raise NotImplementedError


class OpenAIModel(EndpointModel):
    """An OpenAI-compatible endpoint; answers are streamed if it supports that."""

    def _address(self, base_url: str | None) -> str:
        return base_url or OPENAI_URL

    def _connect(self, options: ClientOptions) -> AsyncModel:
        from hermes_jobs.llm.completions_client import CompletionsClient

        return CompletionsClient(options)


class AnthropicModel(EndpointModel):
    """An endpoint of Anthropic's Messages API; answers are streamed."""

    def _address(self, base_url: str | None) -> str:
        """The address before `/v1/messages`; users often append the `/v1` of other APIs."""
        return (base_url or ANTHROPIC_URL).rstrip("/").removesuffix("/v1")

    def _connect(self, options: ClientOptions) -> AsyncModel:
        from hermes_jobs.llm.anthropic.messages_client import MessagesClient

        return MessagesClient(options)


def cancelled(cancel: Cancel) -> ModelError:
    """The error of a call whose `cancel` has fired, or whose model was closed during the call."""
    return ModelError("cancelled", f"The model call was stopped: {cancel.reason or 'the model was closed'}.")


def _stop(future: Future[Any]) -> None:
    future.cancel()
