"""Server-sent events: bytes in any chunks to the data of each event, from a response that may be cancelled.

What a body holds is seen from its beginning: gateways send events as `application/json`, and JSON as
`text/event-stream`. A byte-order mark at the beginning is skipped.

Lines end with LF, CRLF or CR only; an event without a blank line at the end of the stream counts too, as
endpoints omit it. Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
import re
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress

import httpx2

_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
_LINE_END = re.compile(rb"\r\n|\n|\r")
DONE = "[DONE]"
"""The data of the last event of a Chat Completions stream."""


class EventDecoder:
    """Takes bytes in order. One instance per stream."""

    def __init__(self) -> None:
        self._partial_line = b""
        self._data: list[str] = []
        self._at_start = True

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The data of the events that this chunk completes. Raises UnicodeDecodeError."""
        if self._at_start:
            chunk, self._partial_line = self._partial_line + chunk, b""
            if len(chunk) < len(BOM_UTF8) and BOM_UTF8.startswith(chunk):
                self._partial_line = chunk
                return
            chunk, self._at_start = chunk.removeprefix(BOM_UTF8), False
        *lines, self._partial_line = _LINE_END.split(self._partial_line + chunk)
        if self._partial_line == b"" and chunk.endswith(b"\r") and lines:
            self._partial_line = lines.pop() + b"\r"  # the next chunk may begin with its LF
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


class Body:
    """The body of a response, of which the beginning has been read. For one task."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._chunks = response.aiter_bytes()
        self._read = b""

    async def is_whole(self) -> bool:
        """Whether the body is one document, JSON or a web page, and no stream of events."""
        while not (start := self._read.removeprefix(BOM_UTF8).lstrip()) or BOM_UTF8.startswith(self._read):
            chunk = await anext(self._chunks, None)
            if chunk is None:
                break
            self._read += chunk
        is_json = "json" in self._response.headers.get("content-type", "")
        is_stream = any(start[: len(field)] == field[: len(start)] for field in _FIELDS) and bool(start)
        return start.startswith((b"{", b"[", b"<")) or (is_json and not is_stream)

    async def whole(self) -> bytes:
        """All of it, without a byte-order mark."""
        rest = [chunk async for chunk in self._chunks]
        return b"".join([self._read, *rest]).removeprefix(BOM_UTF8)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """All of it, as it arrives."""
        yield self._read
        async for chunk in self._chunks:
            yield chunk


async def events_of(body: Body) -> AsyncGenerator[str, None]:
    """The data of each event.

    The clients' own readers do not report whether the end was marked, and fail on empty data.
    """
    decoder = EventDecoder()
    async for chunk in body.chunks():
        for data in decoder.feed(chunk):
            yield data
    for data in decoder.finish():
        yield data


async def drain(events: AsyncGenerator[str, None]) -> None:
    """Read the rest of the stream, so that the connection can be reused."""
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in events:
                pass
