"""RabbitMQ as the broker: a worker consumes from it, and Flower's heartbeats go through it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from hermes_jobs.runtime.broker_address import carries_live_text
from tests.home import Home, endpoint
from tests.model_server import ModelServer
from tests.tools.support import wait_until

RABBITMQ_URL = os.environ.get("HERMES_JOBS_TEST_RABBITMQ_URL", "amqp://guest:guest@127.0.0.1:5672//")


@pytest.mark.slow
def test_a_worker_takes_its_work_from_rabbitmq(tmp_path: Path, model_server: ModelServer) -> None:
    try:
        socket.create_connection(("127.0.0.1", 5672), 2).close()
    except OSError:
        pytest.skip("RabbitMQ cannot be reached.")
    home = Home(tmp_path, {**endpoint(model_server.base_url), "HERMES_JOBS_BROKER_URL": RABBITMQ_URL})
    with home.start("worker", "-c", "4") as worker:
        wait_until(lambda: bool(home.run("queues", "--json").json["workers"]), "a worker")
        turn = home.turn(home.send("hello")["turn"])
        doctor = home.run("doctor", "--json").json
        worker.process.terminate()
        ended = worker.end()

    (name,) = {step["worker"] for step in turn["steps"]}
    assert name.startswith("worker-")
    (broker,) = (check for check in doctor["checks"] if check["check"] == "broker")
    assert broker["status"] == "ok"
    assert "appear when they are complete" in broker["message"]
    assert "guest:guest" not in broker["message"]
    assert ended.code == 0


@pytest.mark.parametrize(
    ("url", "carries"),
    [
        ("redis://h/0", True),
        ("rediss://h", True),
        ("unix:///s", True),
        ("amqp://h//", False),
        ("memory://", False),
    ],
)
def test_text_is_shown_as_it_is_written_over_redis_alone(url: str, carries: bool) -> None:
    assert carries_live_text(url) is carries
