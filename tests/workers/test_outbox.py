"""Messages reach the broker once each, whoever sends them; nobody waits for a broker that has gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from hermes_jobs.runtime.broker_address import find_server
from tests.faults.redis_server import RedisServer
from workers.app import make_app
from workers.dispatch import MAX_BATCH, Message, MessagePublisher

QUEUE = "turns"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(find_server(), tmp_path) as broker:
        yield broker


@pytest.fixture
def app(broker: RedisServer) -> Iterator[Celery]:
    app = make_app(broker.url, prefix="test.")
    yield app
    app.close()


def message(app: Celery, task: str) -> Message:
    headers, properties, body, _ = app.amqp.as_task_v2(task, "turn.call_model", (task,))
    return Message(queue=QUEUE, headers=headers, properties=properties, body=body)


def waiting(app: Celery) -> list[str]:
    """The ids of the tasks in the queue, the first one first."""
    found: list[Any] = []
    with app.connection_for_read() as connection:
        queue = app.amqp.queues[QUEUE](connection.default_channel)
        while (each := queue.get(no_ack=True)) is not None:
            found.append(each.headers["id"])
    return found


def test_messages_of_one_thread_arrive_in_order_however_many(app: Celery) -> None:
    ids = [f"t{number}" for number in range(2 * MAX_BATCH + 1)]
    MessagePublisher(app).put(message(app, task) for task in ids)
    assert waiting(app) == ids


def test_messages_of_many_threads_arrive_once_each(app: Celery) -> None:
    outbox = MessagePublisher(app)
    ids = [f"t{number}" for number in range(400)]
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda task: outbox.put([message(app, task)]), ids))
    assert sorted(waiting(app)) == sorted(ids)


def test_a_broker_that_was_started_again_gets_the_first_message(app: Celery, broker: RedisServer) -> None:
    outbox = MessagePublisher(app)
    assert outbox.send([message(app, "before")])
    broker.kill()
    broker.start()
    assert outbox.send([message(app, "after")])
    assert waiting(app) == ["after"]


def test_an_unreachable_broker_is_logged_and_is_no_error(app: Celery, broker: RedisServer) -> None:
    outbox = MessagePublisher(app)
    assert outbox.send([message(app, "before")])
    broker.kill()
    assert not outbox.send([message(app, "lost")])
    outbox.put([message(app, "lost too")])
    broker.start()
    outbox.put([message(app, "after")])
    assert waiting(app) == ["after"]


class Interrupted(list[Message]):
    """Messages in the middle of whose sending another thread puts one in."""

    def __init__(self, messages: Iterable[Message], outbox: MessagePublisher, other: Message) -> None:
        super().__init__(messages)
        self._outbox = outbox
        self._other = other

    def __iter__(self) -> Iterator[Message]:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(self._outbox.put, [self._other]).result()
        return super().__iter__()


def test_steps_added_during_a_send_are_sent_right_after(app: Celery) -> None:
    outbox = MessagePublisher(app)
    assert outbox.send(Interrupted([message(app, "relayed")], outbox, message(app, "meanwhile")))
    assert waiting(app) == ["relayed", "meanwhile"]
