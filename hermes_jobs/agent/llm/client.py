"""An endpoint as the engine's `Model`: callers block in threads, one asyncio loop does the I/O."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from functools import partial
from queue import SimpleQueue
from typing import Any, Protocol

from hermes_jobs.agent.llm.dialect import BY_NAME, OPENAI_URL, ApiOptions
from hermes_jobs.agent.llm.errors import model_error
from hermes_jobs.agent.llm.loop import LoopThread
from hermes_jobs.agent.llm.windows import Windows, known_window
from hermes_jobs.engine.ports import Cancel, ModelError, ModelRequest, Reply

UNUSABLE_KEY = "The key holds characters that no key has: only a part of it was copied, or more than it."


class AsyncModel(Protocol):
    """A model that is called on one asyncio loop."""

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        """Make one call; see `Model.reply`. Cancelling the task ends the call."""

    async def close(self) -> None:
        """Close the connections."""


class EndpointModel:
    """A `Model` over an `AsyncModel` that `make` creates from the key, in `warm` or at the first call.

    Importing a provider's client takes up to half a second: `make` imports it.
    """

    def __init__(self, make: Callable[[str], AsyncModel], *, api_key: str | None) -> None:
        self._make = make
        self._api_key = api_key or ""
        self._loop = LoopThread()
        self._lock = threading.Lock()
        self._made: AsyncModel | None = None
        self._closed = False

    def warm(self) -> None:
        """Import the client and create it ahead of the first call."""
        self._model()

    def close(self) -> None:
        """Close the connections; running calls fail, later ones raise RuntimeError."""
        with self._lock:
            made, self._made = self._made, None
            self._closed = True
        if made is not None:
            self._loop.submit(made.close()).result()
        self._loop.close()

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        """See `Model.reply`. `on_text` is called in the calling thread."""
        if not (self._api_key.isascii() and self._api_key.isprintable()):
            raise model_error("auth", UNUSABLE_KEY)
        pieces: SimpleQueue[str | None] = SimpleQueue()
        future = self._loop.submit(self._model().reply(request, pieces.put))
        future.add_done_callback(lambda _: pieces.put(None))
        take_back = cancel.on_cancel(partial(_stop, future))
        try:
            while (piece := pieces.get()) is not None and not future.cancelled():
                on_text(piece)
            return future.result()
        except CancelledError:
            raise cancelled(cancel) from None
        finally:
            take_back()
            future.cancel()  # if on_text raised: nobody waits for the rest

    def _model(self) -> AsyncModel:
        with self._lock:
            if self._closed:
                raise RuntimeError("The model was closed; make a new one.")
            if self._made is None:
                self._made = self._make(self._api_key)
            return self._made


class OpenAIModel(EndpointModel):
    """An OpenAI-compatible endpoint; answers are streamed if it supports that.

    `base_url` None is OpenAI's own; `windows` learns from refusals. `idle_timeout`: seconds without data
    after which a call fails; `timeout`: seconds for a whole call, None for no limit.
    `watch` is called with the HTTP client. openai is imported by `warm` or the first call.
    """

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None = None,
        idle_timeout: float = 120.0,
        timeout: float | None = None,
        manner: ApiOptions = BY_NAME,
        windows: Windows | None = None,
        watch: Callable[[Any], None] | None = None,
    ) -> None:
        url = base_url or OPENAI_URL
        known = windows or Windows(override=None, known=lambda model: known_window(model, url))

        def make(key: str) -> AsyncModel:
            from hermes_jobs.agent.llm.completions_client import CompletionsClient

            return CompletionsClient(
                api_key=key,
                base_url=url,
                idle_timeout=idle_timeout,
                timeout=timeout,
                windows=known,
                manner=manner,
                watch=watch,
            )

        super().__init__(make, api_key=api_key)


def cancelled(cancel: Cancel) -> ModelError:
    """The error of a call whose `cancel` has fired, or whose model was closed during the call."""
    return ModelError("cancelled", f"The model call was stopped: {cancel.reason or 'the model was closed'}.")


def _stop(future: Future[Any]) -> None:
    future.cancel()
