"""The transport of a stdio server: one JSON message a line, over two pipes, each line of bounded length.

Other lines (programs print to stdout although they must not) are logged and skipped. An answer that cannot be
read becomes an error of its request, which would wait for it otherwise.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import islice

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp.types import ErrorData, JSONRPCError, jsonrpc_message_adapter
from mcp.types.jsonrpc import PARSE_ERROR

MAX_LINE = 16 << 20
CHUNK = 1 << 16


class TooLarge(Exception):
    """The server sent a message over the size limit."""


@asynccontextmanager
async def pipes(
    to_server: int, from_server: int, note: Callable[[str], None], ended: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    """Messages over the two descriptors, which the transport owns.

    `note` is called with lines that are not messages, `ended` once, at the end, with the reason
    unless the server has closed its output.
    """
    sent_in, to_read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_write, sent_out = anyio.create_memory_object_stream[SessionMessage](0)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=CHUNK)
    incoming, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_server, "rb", buffering=0)
    )
    outgoing, flow = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop), os.fdopen(to_server, "wb", buffering=0)
    )

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_receive, reader, sent_in, note, ended)
        tasks.start_soon(_send, asyncio.StreamWriter(outgoing, flow, None, loop), sent_out)
        try:
            yield to_read, to_write
        finally:
            tasks.cancel_scope.cancel()
            outgoing.close()
            incoming.close()
            for stream in (to_read, to_write):
                stream.close()


async def _receive(
    reader: asyncio.StreamReader,
    sink: MemoryObjectSendStream[SessionMessage | Exception],
    note: Callable[[str], None],
    ended: Callable[[str], None],
) -> None:
    """Pass the server's messages on until it closes its output; see `pipes`."""
    reason = ""
    async with sink:
        try:
            async for line in _lines(reader):
                message = _parse(line)
                if message is None:
                    note(line[:200].decode(errors="replace"))
                    message = _unreadable(line)
                if message is not None:
                    await sink.send(message)
        except TooLarge as error:
            reason = str(error)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            pass
        ended(reason)


async def _send(writer: asyncio.StreamWriter, source: MemoryObjectReceiveStream[SessionMessage]) -> None:
    """Write the client's messages until the server closes its input."""
    async with source:
        with suppress(OSError):
            async for message in source:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                writer.write(text.encode() + b"\n")
                await writer.drain()


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    parts: list[bytes] = []
    size = 0
    while chunk := await reader.read(CHUNK):
        first, *more = chunk.split(b"\n")
        parts.append(first)
        size += len(first)
        if size > MAX_LINE:
            raise TooLarge(f"it sent more than {MAX_LINE >> 20} MiB in one message")
        for line in more:
            yield b"".join(parts)
            parts, size = [line], len(line)


def _parse(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


UNREADABLE = "Unreadable answer"
"""The message of the error for an answer that cannot be read."""
MAX_TOKENS = 1_000_000  # of a message that are looked at for its id
_TOKEN = re.compile(rb'"(?:\\.|[^"\\])*+\\?(?:"|\Z)|[{}\[\]]', re.DOTALL)
_ID = re.compile(rb'\s*:\s*(?P<id>-?\d{1,18}|"(?:[^"\\]){0,200}")\s*[,}]')


def _unreadable(line: bytes) -> SessionMessage | None:
    """The error for the request that the line answers; None if it is no answer."""
    found = _answered_id(line)
    if found is None:
        return None
    error = ErrorData(code=PARSE_ERROR, message=UNREADABLE)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=found, error=error))


def _answered_id(line: bytes) -> int | str | None:
    """The `id` of a message that need not be JSON as a whole; None if it has none, or a `method`, too."""
    depth, found = 0, None
    for match in islice(_TOKEN.finditer(line), MAX_TOKENS):
        token = match[0]
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
        elif depth == 1 and token == b'"method"':
            return None
        elif depth == 1 and token == b'"id"' and (value := _ID.match(line, match.end())):
            text = value["id"].decode(errors="replace")
            found = text[1:-1] if text.startswith('"') else int(text)
    return found
