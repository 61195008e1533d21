"""The events of a streamed response, as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import httpx2

from hermes_jobs.agent.llm.sse import EventDecoder

_DRAIN_SECONDS = 1.0  # to read the rest of a stream, so that its connection can be reused


async def events_of(response: httpx2.Response) -> AsyncGenerator[str, None]:
    """The data of each event.

    The clients' own readers do not report whether the end was marked, and fail on empty data.
    """
    decoder = EventDecoder()
    async for piece in response.aiter_bytes():
        for data in decoder.feed(piece):
            yield data
    for data in decoder.finish():
        yield data


async def drain(events: AsyncGenerator[str, None]) -> None:
    """Read the rest of the stream, so that the connection can be reused."""
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in events:
                pass
