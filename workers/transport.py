"""Kombu's Redis transport without its repeated work for every message.

Kombu creates a redis-py client with all its tables for each command, and fetches messages one by one. Here
the client is reused, and one command fetches as many messages as the worker has room for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty
from time import monotonic
from typing import Any

from kombu import transport
from kombu.transport import redis
from kombu.utils.encoding import bytes_to_str
from kombu.utils.json import loads

ALIAS = "redis"
MAX_CONSECUTIVE = 16  # messages of one queue, before those of the others
WAIT_SECONDS = 10  # for a message, before the worker asks again
UNBLOCK_EVERY, UNBLOCK_TRIES = 0.1, 15  # seconds between requests to end the wait, and their number
BINDINGS_EVERY = 20.0  # seconds between kombu's looks at tables that expire after an hour


class Channel(redis.Channel):
    """Fetches several messages at once. Requires one list per queue: `priority_steps` of `[0]`."""

    _kept: Any = None
    _one_by_one = False  # a server older than Redis 7 has no BLMPOP
    _socket: Any = None
    _client_id: int | None = None  # the server's number of the connection that waits, if it tells

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        """The client for one exchange with the broker, shared by many threads."""
        if client is None:
            if self._kept is None or self._kept.connection_pool is not self.pool:
                self._kept = self._create_client()
            client = self._kept
        yield client

    def _brpop_start(self, timeout: float | None = None) -> None:
        if self._one_by_one:
            super()._brpop_start(timeout)
            return
        queues = self._queue_cycle.consume(len(self.active_queues))
        if not queues:
            return
        prefetch_room = self.qos.can_consume_max_estimate()
        count = MAX_CONSECUTIVE if prefetch_room is None else max(1, min(prefetch_room, MAX_CONSECUTIVE))
        keys = [f"{self.global_keyprefix}{queue}" for queue in queues]
        connection = self.client.connection
        self._ask_for_id(connection)
        self._in_poll = connection
        self._brpop_sent_at = monotonic()
        if timeout is None:
            timeout = self.brpop_timeout if self._client_id is None else WAIT_SECONDS
        connection.send_command("BLMPOP", timeout, len(keys), *keys, "RIGHT", "COUNT", count)

    def _ask_for_id(self, connection: Any) -> None:
        """Once for each connection: who waits long must be found by its number when the worker stops."""
        if connection._sock is not None and connection._sock is self._socket:  # noqa: SLF001 - it has no other name
            return
        connection.send_command("CLIENT", "ID")
        try:
            self._client_id = int(connection.read_response())
        except self.ResponseError:  # not permitted
            self._client_id = None
        self._socket = connection._sock  # noqa: SLF001

    def close(self) -> None:
        """Close it. The server is told to end the wait for a message, so that none is lost on the way."""
        waiting = self._in_poll
        if waiting and self._client_id is not None:
            with suppress(*self.connection_errors, self.ResponseError), self.conn_or_acquire() as client:
                for _ in range(UNBLOCK_TRIES):
                    client.client_unblock(self._client_id)
                    if waiting.can_read(timeout=UNBLOCK_EVERY):  # else the wait had not begun
                        break
        super().close()

    def _brpop_read(self, **options: Any) -> bool:
        if self._one_by_one:
            return bool(super()._brpop_read(**options))
        try:
            key, messages = self._answer()
            queue = key.removeprefix(self.global_keyprefix)
            self._queue_cycle.rotate(queue)
        finally:
            self._in_poll = None
            self._flush_brpop_reauth()
        for message in messages:
            self.connection._deliver(loads(bytes_to_str(message)), queue)  # noqa: SLF001 - as kombu's own
        return True

    def _answer(self) -> tuple[str, list[bytes]]:
        """The list that had messages, and the messages. Raises `Empty`."""
        connection = self.client.connection
        try:
            answer = self.client.parse_response(connection, "BLMPOP")
        except self.ResponseError as error:
            if "unknown command" not in str(error).lower():
                raise
            self._one_by_one = True
            raise Empty from error
        except self.connection_errors:
            connection.disconnect()
            raise
        if not answer:
            raise Empty
        key, messages = answer
        return bytes_to_str(key), messages


class Transport(redis.Transport):
    """The transport of `redis://` in a process that has called `use`."""

    Channel = Channel

    def register_with_event_loop(self, connection: Any, loop: Any) -> None:
        """Kombu looks every second, and every look wakes the worker."""
        super().register_with_event_loop(connection, loop)
        cycle = self.cycle
        cycle._binding_expiry_tref.cancel()  # noqa: SLF001
        cycle._binding_expiry_tref = loop.call_repeatedly(  # noqa: SLF001
            BINDINGS_EVERY, cycle.maybe_refresh_binding_expiry
        )


def use() -> None:
    """Use this transport for every `redis://` broker of this process."""
    transport.TRANSPORT_ALIASES[ALIAS] = f"{__name__}:{Transport.__name__}"
    transport._transport_cache.pop(ALIAS, None)  # noqa: SLF001 - the previous value of the name
