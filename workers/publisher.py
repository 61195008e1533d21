"""Publishes messages to the broker: many threads queue them, one of these sends for all.

If another thread is sending, a thread leaves its messages to that one. So a busy process sends in batches,
and its threads do not wait for the broker.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from celery import Celery
from kombu import Producer
from kombu.exceptions import KombuError

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 100
ATTEMPTS = 2  # the first one may find a connection to a broker that was restarted since


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A task's message: its queue, and its headers and body in Celery's protocol."""

    queue: str
    headers: Mapping[str, Any]
    properties: Mapping[str, Any]
    body: Sequence[Any]


class MessagePublisher:
    """One per process. Safe for many threads."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        connection = app.connection_for_write()
        self._failures = (KombuError, OSError, *connection.connection_errors, *connection.channel_errors)
        self._waiting: deque[Message] = deque()
        self._sending = threading.Lock()
        self._producer: Producer | None = None

    def put(self, messages: Iterable[Message]) -> None:
        """Queue messages to be sent soon, by this thread or another. Never raises: lost messages are resent
        from the log.
        """
        self._waiting.extend(messages)
        self._send_waiting()

    def send(self, messages: Sequence[Message]) -> bool:
        """Send messages, and those queued meanwhile; returns whether the broker accepted these."""
        with self._sending:
            taken = self._send(messages)
        if taken:
            self._send_waiting()
        return taken

    def _send_waiting(self) -> None:
        """Send the queued messages, unless another thread does."""
        while self._waiting and self._sending.acquire(blocking=False):
            try:
                self._send(self._taken())
            finally:
                self._sending.release()

    def _taken(self) -> list[Message]:
        """The first queued messages, removed from the queue."""
        return [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))]

    def _send(self, messages: Sequence[Message]) -> bool:
        for _ in range(ATTEMPTS):
            try:
                self._publish(messages)
            except self._failures as error:
                self._hang_up()
                logger.info("the broker took no message: %s", type(error).__name__)
            else:
                return True
        return False

    def _publish(self, messages: Sequence[Message]) -> None:
        if self._producer is None:
            self._producer = self._app.amqp.Producer(self._app.connection_for_write(), auto_declare=False)
        with self._producer.batch():
            for message in messages:
                self._producer.publish(
                    message.body,
                    exchange="",
                    routing_key=message.queue,
                    serializer="json",
                    headers=message.headers,
                    **message.properties,
                )

    def _hang_up(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.connection.collect()
