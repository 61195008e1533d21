"""A worker of three empty Celery tasks, the baseline of `turns`."""

from __future__ import annotations

import sys

from celery import Celery, chain
from redis import Redis

from workers.app import make_app

DONE = "empty-tasks-done"
PREFIX = "empty."
HOPS = ("turn.prefetch", "turn.call_model", "turn.record_usage")


def empty_app(broker_url: str) -> Celery:
    """The application: our settings and queues, tasks that do nothing; the last one says that it ran."""
    app = make_app(broker_url, prefix=PREFIX)
    done = Redis.from_url(broker_url)

    def nothing(number: int) -> None:
        pass

    def last(number: int) -> None:
        done.rpush(DONE, number)

    for name, body in zip(HOPS, (nothing, nothing, last), strict=True):
        app.task(name=name, shared=False)(body)
    return app


def send_chain(app: Celery, number: int) -> None:
    """Three hops."""
    chain(app.signature(name, args=(number,), immutable=True) for name in HOPS).apply_async()


if __name__ == "__main__":
    worker = empty_app(sys.argv[1]).Worker(concurrency=16, pool="threads", loglevel="WARNING", quiet=True)
    worker.start()
