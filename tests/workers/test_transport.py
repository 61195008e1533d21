"""The worker's way of talking to Redis: kombu's own messages under kombu's own keys, in fewer questions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection, Consumer, Producer, Queue
from redis import Redis

from hermes_jobs.runtime.broker_address import find_server
from tests.faults.redis_server import RedisServer
from tests.tools.support import wait_until

OURS = "workers.transport:Transport"
PREFIX = "home."
QUEUES = ("turns", "tools")


@pytest.fixture(params=["a server of today", "a server without BLMPOP"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RedisServer]:
    renamed = ("--rename-command", "BLMPOP", "") if "without" in request.param else ()
    with RedisServer(find_server(), tmp_path, *renamed) as broker:
        yield broker


def connection(broker: RedisServer, transport: str = OURS) -> Connection:
    options = {"global_keyprefix": PREFIX, "ack_emulation": False, "priority_steps": [0]}
    return Connection(broker.url, transport=transport, transport_options=options)


def publish(connection: Connection, messages: list[tuple[str, int]]) -> None:
    producer = Producer(connection)
    for queue, number in messages:
        producer.publish(number, exchange="", routing_key=queue, serializer="json")


class Reader:
    """Consumes the queues; acknowledges nothing by itself."""

    def __init__(self, connection: Connection, room: int) -> None:
        self.messages: list[Any] = []
        self._connection = connection
        consumer = Consumer(
            connection,
            [Queue(name, routing_key=name) for name in QUEUES],
            on_message=self.messages.append,
            prefetch_count=room,
        )
        consumer.consume()

    def numbers(self, queue: str) -> list[int]:
        """What came from that queue, in order."""
        found = [each for each in self.messages if each.delivery_info["routing_key"] == queue]
        return [each.decode() for each in found]

    def read(self, count: int) -> None:
        """Until so many messages have come."""
        wait_until(lambda: len(self.messages) >= count or self.drain_once(), f"{count} messages")

    def drain_once(self) -> bool:
        """What comes at once; False."""
        with suppress(TimeoutError):
            self._connection.drain_events(timeout=0.1)
        return False


def test_all_messages_come_each_queue_in_its_order(broker: RedisServer) -> None:
    sent = [(QUEUES[number % 2], number) for number in range(50)]
    with connection(broker) as ours:
        publish(ours, sent)
        reader = Reader(ours, room=100)
        reader.read(len(sent))
        assert reader.numbers("turns") == list(range(0, 50, 2))
        assert reader.numbers("tools") == list(range(1, 50, 2))


def test_no_more_messages_are_fetched_than_there_is_room_for(broker: RedisServer) -> None:
    with connection(broker) as ours, Redis.from_url(broker.url) as redis:
        publish(ours, [("turns", number) for number in range(10)])
        reader = Reader(ours, room=3)
        reader.read(3)
        assert (reader.numbers("turns"), redis.llen(f"{PREFIX}turns")) == ([0, 1, 2], 7)
        for message in reader.messages:
            message.ack()
        reader.read(6)
        assert (reader.numbers("turns"), redis.llen(f"{PREFIX}turns")) == ([0, 1, 2, 3, 4, 5], 4)


@pytest.mark.parametrize(("sends", "reads"), [(OURS, "redis"), ("redis", OURS)])
def test_it_and_kombus_own_understand_each_other(broker: RedisServer, sends: str, reads: str) -> None:
    with connection(broker, sends) as sending, connection(broker, reads) as reading:
        publish(sending, [("tools", 1), ("tools", 2)])
        reader = Reader(reading, room=10)
        reader.read(2)
        assert reader.numbers("tools") == [1, 2]


def test_a_wait_for_a_message_ends_when_the_channel_closes(
    broker: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a server that is asked to wait for ever; what comes afterwards stays in the list."""
    monkeypatch.setattr("workers.transport.WAIT_SECONDS", 0)
    with Redis.from_url(broker.url) as redis:
        with connection(broker) as ours:
            Reader(ours, room=10).drain_once()
        with connection(broker) as ours:
            publish(ours, [("turns", 1)])
        assert redis.llen(f"{PREFIX}turns") == 1
