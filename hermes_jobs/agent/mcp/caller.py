"""A worker that waits for a reply of the connector, as the connector sees it."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress

import msgspec

from hermes_jobs.agent.mcp.messages import (
    LENGTH,
    MAX_FRAME,
    AnswerNow,
    AskNow,
    Begun,
    CallProgress,
    Reply,
    decode_request,
    frame,
)
from hermes_jobs.agent.tools.supervisor import moment

PACE = 0.2
"""Seconds between two messages about the progress of a call, at least."""


class Caller:
    """One connection of a worker. `lease`: a descriptor of its lease file, or -1."""

    def __init__(self, worker: socket.socket, lease: int) -> None:
        self._worker = worker
        self._lease = lease
        self._answers: dict[str, asyncio.Future[bytes]] = {}
        self._sending = asyncio.Lock()
        self._told_at = float("-inf")

    async def begin(self) -> bool:
        """Tell it that the call is sent now; whether it may act."""
        await self._send(frame(Begun()))
        return self.may_act

    async def ask(self, asked: AskNow) -> bytes:
        """Have it ask the person; the answer."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._answers[asked.key] = answer
        await self._send(frame(asked))
        return await answer

    async def tell(self, text: str) -> None:
        """Tell it how far the call is, unless it was told a moment ago, or waits for the person."""
        now = asyncio.get_running_loop().time()
        if not self._answers and now - self._told_at >= PACE:
            self._told_at = now
            await self._send(frame(CallProgress(text=text)))

    async def reply(self, reply: Reply) -> None:
        """Tell it the reply."""
        await self._send(frame(reply))

    @property
    def may_act(self) -> bool:
        """Whether its lease has not ended."""
        if self._lease < 0:
            return True
        try:
            return float(os.pread(self._lease, 64, 0)) > moment()
        except (OSError, ValueError):
            return False

    async def until_gone(self) -> None:
        """Take the answers that it sends, until it has closed its end."""
        loop = asyncio.get_running_loop()
        found = bytearray()
        with suppress(OSError, msgspec.DecodeError):
            while chunk := await loop.sock_recv(self._worker, 1 << 16):
                found += chunk
                while len(found) >= LENGTH.size and len(found) >= (end := _end_of_first(found)):
                    self._take(bytes(found[LENGTH.size : end]))
                    del found[:end]

    def _take(self, data: bytes) -> None:
        given = decode_request(data)
        if isinstance(given, AnswerNow):
            answer = self._answers.pop(given.key, None)
            if answer is not None and not answer.done():
                answer.set_result(given.answer)

    async def _send(self, data: bytes) -> None:
        async with self._sending:
            await asyncio.get_running_loop().sock_sendall(self._worker, data)


def _end_of_first(data: bytearray) -> int:
    return LENGTH.size + min(int(LENGTH.unpack_from(data)[0]), MAX_FRAME)
