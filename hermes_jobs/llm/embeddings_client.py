"""An OpenAI-compatible endpoint for embeddings, as the engine's `Embedder`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from hermes_jobs.kernel.engine.ports import Cancel, Pricing, Vectors
from hermes_jobs.kernel.engine.ports.vectors import PATIENCE
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.llm.client import UNUSABLE_KEY, cancelled
from hermes_jobs.llm.dialect import OPENAI_URL
from hermes_jobs.llm.errors import model_error
from hermes_jobs.llm.loop import LoopThread
from hermes_jobs.llm.transport import Address
from hermes_jobs.text.vectors import packed

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from hermes_jobs.llm.client_errors import ErrorMapper

T = TypeVar("T")
_PLACEHOLDER_KEY = "no-key"  # local servers need none, the client does
_BLANK = "-"  # in the place of a text of blanks, which OpenAI refuses


class SmallEndpoint:
    """One model at an endpoint, for calls that are not streamed.

    Importing openai takes up to half a second: it is imported by the first call.
    """

    def __init__(
        self,
        *,
        model: str,
        name: str,
        base_url: str | None,
        api_key: str | None,
        pricing: Pricing,
    ) -> None:
        """`name`: the name under which its vectors are stored."""
        self._model = model
        self.model = name
        self._url = base_url or OPENAI_URL
        self._key = api_key or ""
        self.pricing = pricing
        self._loop = LoopThread()
        self._lock = threading.Lock()
        self._client: AsyncOpenAI | None = None

    def close(self) -> None:
        """Close the connections; running calls fail."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            self._loop.submit(client.close()).result()
        self._loop.close()

    def cost_usd(self, usage: Usage) -> float | None:
        """See `Embedder.cost_usd`."""
        return self.pricing.cost_usd(self._model, usage)

    def _waited(self, work: Coroutine[Any, Any, T], cancel: Cancel) -> T:
        """The result of the call. Raises `ModelError`."""
        if not (self._key.isascii() and self._key.isprintable()):
            work.close()
            raise model_error("auth", UNUSABLE_KEY)
        future = self._loop.submit(work)
        take_back = cancel.on_cancel(partial(_stop, future))
        try:
            return future.result()
        except CancelledError:
            raise cancelled(cancel) from None
        finally:
            take_back()

    def _open(self, seconds: float) -> tuple[ErrorMapper, AsyncOpenAI]:
        """What names errors of a call of at most so many seconds, and the client."""
        from hermes_jobs.llm.client_errors import ErrorMapper
        from hermes_jobs.llm.openai_sdk import openai

        failing = ErrorMapper(
            openai, base_url=self._url, key=self._key, idle_timeout=seconds, timeout=seconds
        )
        return failing, self._opened(openai.AsyncOpenAI)

    def _opened(self, make: Callable[..., AsyncOpenAI]) -> AsyncOpenAI:
        with self._lock:
            if self._client is None:
                address = Address.of(self._url)
                self._client = make(
                    api_key=self._key or _PLACEHOLDER_KEY,
                    base_url=address.base_url,
                    default_query=address.query,
                    default_headers=address.headers(self._key),
                    max_retries=0,
                )
            return self._client


class EmbeddingsEndpoint(SmallEndpoint):
    """See `Embedder`."""

    def embed(self, texts: Sequence[str], cancel: Cancel, *, seconds: float = PATIENCE) -> Vectors:
        """See `Embedder.embed`."""
        return self._waited(self._ask(texts, seconds), cancel)

    async def _ask(self, texts: Sequence[str], seconds: float) -> Vectors:
        failing, client = self._open(seconds)
        try:
            async with asyncio.timeout(seconds):
                answer = await client.embeddings.create(
                    model=self._model,
                    input=[text if text.strip() else _BLANK for text in texts],
                )
        except TimeoutError as error:
            raise failing.made("timeout", f"No vectors within {seconds:g} s.", NO_USAGE) from error
        except Exception as error:
            raise failing.error(error, has_begun=False, usage=NO_USAGE) from error
        by_place = {embedding.index: packed(embedding.embedding) for embedding in answer.data}
        vectors = tuple(by_place.get(index, b"") for index in range(len(texts)))
        reported = getattr(answer, "usage", None)  # local servers may leave it out
        used = getattr(reported, "prompt_tokens", None) or 0
        if not all(map(isfinite, chain.from_iterable(embedding.embedding for embedding in answer.data))):
            raise failing.garbage(
                "holds a vector with a number that is infinite or not a number", Usage(used)
            )
        if not vectors[0] or len({len(vector) for vector in vectors}) > 1:
            what = f"holds {len(by_place)} vectors of several lengths for {len(texts)} texts"
            raise failing.garbage(what, Usage(used))
        return Vectors(vectors=vectors, model=answer.model or self._model, usage=Usage(used))


def _stop(future: Future[Any]) -> None:
    future.cancel()
