"""The connector's side of a worker's connection."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress

import msgspec

from hermes_jobs.features.mcp.messages import (
    LENGTH,
    MAX_FRAME,
    AnswerNow,
    AskNow,
    CallProgress,
    CallStarted,
    Reply,
    decode_request,
    frame,
)
from hermes_jobs.tools.supervisor import moment

PROGRESS_SECONDS = 0.2
"""The least seconds between two progress messages of a call."""


class Caller:
    """One connection of a worker. `lease`: a descriptor of its lease file, or -1."""

    def __init__(self, worker: socket.socket, lease: int) -> None:
        self._worker = worker
        self._lease = lease
        self._answers: dict[str, asyncio.Future[bytes]] = {}
        self._sending = asyncio.Lock()
        self._last_notices_at = float("-inf")

    async def begin(self) -> bool:
        """Report that the call is sent now; whether the worker's lease is valid."""
        await self._send(frame(CallStarted()))
        return self.may_act

    async def ask(self, question: AskNow) -> bytes:
        """Forward a question to the user; returns the answer."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._answers[question.key] = answer
        await self._send(frame(question))
        return await answer

    async def tell(self, text: str) -> None:
        """Send the call's progress, unless one was just sent, or the user is being asked."""
        now = asyncio.get_running_loop().time()
        if not self._answers and now - self._last_notices_at >= PROGRESS_SECONDS:
            self._last_notices_at = now
            await self._send(frame(CallProgress(text=text)))

    async def reply(self, reply: Reply) -> None:
        """Send the reply."""
        await self._send(frame(reply))

    @property
    def may_act(self) -> bool:
        """Whether its lease is valid."""
        if self._lease < 0:
            return True
        try:
            return float(os.pread(self._lease, 64, 0).split()[0]) > moment()
        except (OSError, ValueError, IndexError):
            return False

    async def wait_until_closed(self) -> None:
        """Receive its answers until it closes the connection."""
        loop = asyncio.get_running_loop()
        buffer = bytearray()
        with suppress(OSError, msgspec.DecodeError):
            while chunk := await loop.sock_recv(self._worker, 1 << 16):
                buffer += chunk
                while len(buffer) >= LENGTH.size and len(buffer) >= (end := _end_of_first(buffer)):
                    self._take(bytes(buffer[LENGTH.size : end]))
                    del buffer[:end]

    def _take(self, data: bytes) -> None:
        decoded_request = decode_request(data)
        if isinstance(decoded_request, AnswerNow):
            answer = self._answers.pop(decoded_request.key, None)
            if answer is not None and not answer.done():
                answer.set_result(decoded_request.answer)

    async def _send(self, data: bytes) -> None:
        async with self._sending:
            await asyncio.get_running_loop().sock_sendall(self._worker, data)


def _end_of_first(data: bytearray) -> int:
    return LENGTH.size + min(int(LENGTH.unpack_from(data)[0]), MAX_FRAME)
