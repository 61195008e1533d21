"""Sends Celery's events, which Flower and `inspect` need, without blocking steps.

Celery's own dispatcher retries a worker's heartbeats endlessly, in the main thread: if the broker becomes
unreachable at that moment, the worker neither consumes nor handles stop signals. And it sends the events of
tasks in every round of that thread's loop, under load one message for every few events.
"""

from __future__ import annotations

from typing import Any

from celery import bootsteps
from celery.app.events import Events
from celery.events.dispatcher import EventDispatcher

FLUSH_AFTER = 0.5  # seconds from the first buffered event of tasks
MAX_BUFFERED = 1000  # events of tasks that are buffered for that time
HEARTBEAT_EVERY = 5.0  # seconds; Flower counts a worker as offline after twice that


class BufferedEventDispatcher(EventDispatcher):
    """Tries each event once; events that the broker did not accept are buffered until the next connection."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        gathering = {"buffer_limit": MAX_BUFFERED, "on_send_buffered": None}
        super().__init__(*arguments, **{**options, **gathering})

    def send(self, type: str, *arguments: Any, retry: bool = False, **fields: Any) -> None:  # noqa: A002
        """Send or buffer an event; `retry` is ignored."""
        super().send(type, *arguments, **fields)

    def extend_buffer(self, other: BufferedEventDispatcher) -> None:
        """Take over the buffered events of an earlier connection's dispatcher."""
        super().extend_buffer(other)
        for group, events in other._group_buffer.items():
            self._group_buffer[group].extend(events)


class Flushing(bootsteps.StartStopStep):
    """A bootstep that sends buffered events a moment after the first of them."""

    requires = ("celery.worker.consumer.events:Events",)

    def __init__(self, consumer: Any, **_options: Any) -> None:
        self._is_wanted = False

    def start(self, consumer: Any) -> None:
        """Start, with each connection to the broker."""
        self._is_wanted = False

        def flush() -> None:
            self._is_wanted = False
            self.shutdown(consumer)

        def flush_soon() -> None:  # from any thread, after each event
            if not self._is_wanted:
                self._is_wanted = True
                consumer.hub.call_soon(consumer.timer.call_after, FLUSH_AFTER, flush)

        consumer.event_dispatcher.on_send_buffered = flush_soon

    def shutdown(self, consumer: Any) -> None:
        """Send what is buffered: the events of the last tasks."""
        if consumer.event_dispatcher is not None:
            consumer.event_dispatcher.flush()


class WorkerEvents(Events):
    """The class of `app.events`."""

    dispatcher_cls = BufferedEventDispatcher
