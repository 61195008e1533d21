"""Server-sent events: bytes in any pieces to the data of each event, from a response that may be cancelled.

Lines end with LF, CRLF or CR only; an event without a blank line at the end of the stream counts too, as
endpoints omit it. Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress

import httpx2

_LINE_END = re.compile(rb"\r\n|\n|\r")
DONE = "[DONE]"
"""The data of the last event of a Chat Completions stream."""


class EventDecoder:
    """Takes bytes in order. One instance per stream."""

    def __init__(self) -> None:
        self._partial_line = b""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[str]:
        """The data of the events that this piece completes. Raises UnicodeDecodeError."""
        *lines, self._partial_line = _LINE_END.split(self._partial_line + piece)
        if self._partial_line == b"" and piece.endswith(b"\r") and lines:
            self._partial_line = lines.pop() + b"\r"  # the next piece may begin with its LF
        yield from self._read(lines)

    def finish(self) -> Iterator[str]:
        """The data of the event that the end of the stream completes, if any."""
        yield from self._read([self._partial_line.rstrip(b"\r"), b""])

    def _read(self, lines: list[bytes]) -> Iterator[str]:
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" ").decode())
            elif not line and self._data:
                data, self._data = "\n".join(self._data), []
                if data.strip():
                    yield data


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
