"""Events are gathered, tried once and kept: a worker whose broker has gone away waits for none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from kombu import Consumer

from hermes_jobs.runtime.broker_address import find_server
from tests.faults.redis_server import RedisServer
from tests.tools.support import wait_until
from workers.app import make_app

NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Celery]:
    with RedisServer(find_server(), tmp_path) as broker:
        app = make_app(broker.url, prefix="test.")
        yield app
        app.close()


@pytest.fixture
def nowhere() -> Iterator[Celery]:
    app = make_app(NOWHERE, prefix="")
    yield app
    app.close()


def gathering(app: Celery, connection: Any) -> Any:
    """A dispatcher as a worker makes it."""
    return app.events.Dispatcher(connection, hostname="worker", buffer_group=["task"])


@contextmanager
def listening(app: Celery) -> Iterator[Callable[[], list[str]]]:
    """Hear events as Flower does; a function that waits a moment and gives the ids of those that came."""
    heard: list[str] = []

    def listen() -> list[str]:
        with suppress(TimeoutError):
            connection.drain_events(timeout=0.05)
        return heard

    with app.connection_for_read() as connection, connection.channel() as channel:
        receiver = app.events.Receiver(channel, handlers={"*": lambda event: heard.append(event["uuid"])})
        with receiver.get_consumers(partial(Consumer, channel), channel)[0]:
            listen()
            yield listen


def kept(dispatcher: Any) -> list[str]:
    """The kinds of the events that could not be sent."""
    return [event["type"] for event, _ in dispatcher._outbound_buffer]


def test_a_heartbeat_that_the_broker_does_not_take_is_kept_although_celery_asks_for_endless_attempts(
    nowhere: Celery,
) -> None:
    with nowhere.connection_for_write() as connection:
        dispatcher = gathering(nowhere, connection)
        dispatcher.send("worker-heartbeat", freq=2.0, retry=True)
        assert kept(dispatcher) == ["worker-heartbeat"]


def test_task_states_are_buffered_and_sent_by_a_flush(app: Celery) -> None:
    with listening(app) as heard, app.connection_for_write() as connection:
        dispatcher = gathering(app, connection)
        for number in range(30):
            dispatcher.send("task-started", uuid=f"t{number}")
        dispatcher.send("worker-heartbeat", uuid="heartbeat")
        wait_until(lambda: bool(heard()), "the heartbeat")
        assert heard() == ["heartbeat"]
        dispatcher.flush()
        wait_until(lambda: len(heard()) > 1, "what was gathered")
        assert heard() == ["heartbeat", *(f"t{number}" for number in range(30))]


def test_messages_buffered_before_a_lost_connection_are_sent_over_the_next(nowhere: Celery) -> None:
    with nowhere.connection_for_write() as connection:
        lost, next_one = gathering(nowhere, connection), gathering(nowhere, connection)
        lost.send("worker-heartbeat")
        lost.send("task-started", uuid="t1")
        next_one.extend_buffer(lost)
        assert kept(next_one) == ["worker-heartbeat"]
        assert [event["uuid"] for event in next_one._group_buffer["task"]] == ["t1"]
