"""The feed of new events: a listener loses none, whenever it comes."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from hermes_jobs.features.serve.feed import Feed
from hermes_jobs.kernel.log.log import EventLog
from tests.eventlog.changes import append, write


class Busy:
    """The log, in which something is written just when a listener has read all that was there."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._has_written = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def tail(self, after: int, limit: int) -> Any:
        """What there is; the first time that it is nothing, something is written then."""
        found = self._log.tail(after, limit)
        if not found and not self._has_written:
            self._has_written = True
            self._log.append(append(write("session-a", "second")))
        return found


def test_what_is_written_just_when_the_first_listener_has_read_the_rest_reaches_it(log: EventLog) -> None:
    """Given one thread for all reading, so that it happens in the order in which it was asked for."""
    log.append(append(write("session-a", "first")))

    async def listen() -> str:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        events = Feed(cast("EventLog", Busy(log))).events(log.last_position())
        found = await asyncio.wait_for(anext(events), 20)
        await events.aclose()  # type: ignore[attr-defined]
        return str(found.event)

    assert "second" in asyncio.run(listen())
