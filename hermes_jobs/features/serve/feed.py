"""New events of the log for all listeners: it is read once, however many listen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_jobs.kernel.events.recorded import RecordedEvent
    from hermes_jobs.kernel.log.log import EventLog

WAIT_SECONDS = 1.0
PING_SECONDS = 15
SEND_SECONDS = 30  # a client that takes nothing for so long is cut off
KEPT = (
    1_000  # events that a slow listener may be behind; it is cut off then, and comes again with its last id
)
BATCH = 500


class Feed:
    """The end of the log. Reads only while somebody listens."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._listeners: set[asyncio.Queue[Sequence[RecordedEvent]]] = set()
        self._reading: asyncio.Task[None] | None = None

    async def events(self, after: int | None) -> AsyncIterator[RecordedEvent]:
        """The events behind that position, or those from now on; ends for a listener that is too slow."""
        queue: asyncio.Queue[Sequence[RecordedEvent]] = asyncio.Queue(KEPT)
        newest = await asyncio.to_thread(self._log.last_position)
        position = newest if after is None else after
        self._listeners.add(queue)
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read(newest))  # what follows comes by the queue
        try:
            while batch := await asyncio.to_thread(self._log.tail, position, BATCH):
                for recorded in batch:
                    yield recorded
                position = batch[-1].position
            while not queue.full():
                for recorded in await queue.get():
                    if recorded.position > position:
                        position = recorded.position
                        yield recorded
        finally:
            self._listeners.discard(queue)

    async def _read(self, position: int) -> None:
        while self._listeners:
            await asyncio.to_thread(self._log.wait, position, WAIT_SECONDS)
            batch = await asyncio.to_thread(self._log.tail, position, BATCH)
            if not batch:
                continue
            position = batch[-1].position
            for queue in self._listeners:
                if not queue.full():
                    queue.put_nowait(batch)
