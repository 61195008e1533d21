"""Sends Celery's events, which Flower and `inspect` live on; work never waits for them.

Celery's own dispatcher sends a worker's heartbeats with endless attempts, in the main thread: where the
broker goes away at that moment, the worker neither consumes nor hears that it should stop. And it sends what
tasks have to tell at every round of that thread's loop, which under load is one message for every few events.
"""

from __future__ import annotations

from typing import Any

from celery import bootsteps
from celery.app.events import Events
from celery.events.dispatcher import EventDispatcher

FLUSH_EVERY = 0.25  # seconds
MOST_AT_ONCE = 1000  # events of tasks that are kept for so long


class BufferedEventDispatcher(EventDispatcher):
    """Tries each event once; what the broker did not take is kept until the worker has reached it again."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        gathering = {"buffer_limit": MOST_AT_ONCE, "on_send_buffered": None}
        super().__init__(*arguments, **{**options, **gathering})

    def send(self, type: str, *arguments: Any, retry: bool = False, **fields: Any) -> None:  # noqa: A002
        """Send or keep an event, whatever `retry` says."""
        super().send(type, *arguments, **fields)

    def extend_buffer(self, other: BufferedEventDispatcher) -> None:
        """Take over what a dispatcher of an earlier connection still had to send."""
        super().extend_buffer(other)
        for group, events in other._group_buffer.items():
            self._group_buffer[group].extend(events)


class Flushing(bootsteps.StartStopStep):
    """The part of a worker that sends what its dispatcher has gathered."""

    requires = ("celery.worker.consumer.events:Events",)

    def __init__(self, consumer: Any, **_options: Any) -> None:
        self._timer: Any = None

    def start(self, consumer: Any) -> None:
        """Begin, with each connection to the broker again."""
        self._timer = consumer.timer.call_repeatedly(FLUSH_EVERY, consumer.event_dispatcher.flush)

    def stop(self, consumer: Any) -> None:
        """Pause: the connection is lost, or the worker leaves."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def shutdown(self, consumer: Any) -> None:
        """Send what the last tasks had to tell."""
        if consumer.event_dispatcher is not None:
            consumer.event_dispatcher.flush()


class WorkerEvents(Events):
    """What `app.events` is."""

    dispatcher_cls = BufferedEventDispatcher
