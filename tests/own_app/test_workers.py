"""`hermes_jobs.celery` with workers on both sides, which are killed: on Redis, and on RabbitMQ."""

from __future__ import annotations

import contextlib
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery, chord
from celery.exceptions import TaskRevokedError
from kombu import Connection

from hermes_jobs.celery import NAME, TurnFailed
from tests.home import Home, Running, endpoint
from tests.model_script import Answer, Hold, Refuse, Rule, Script
from tests.model_server import ModelServer
from tests.services import RABBITMQ_URL, REDIS_URL, missing
from tests.tools.support import wait_until
from tests.workers.test_up import processes_running, up

pytestmark = [pytest.mark.slow, pytest.mark.redis]
PATIENCE = 90  # seconds for a result


@pytest.fixture(params=["redis", "rabbitmq"])
def broker(request: pytest.FixtureRequest) -> str:
    """The URL of the application's broker."""
    url = {"redis": REDIS_URL, "rabbitmq": RABBITMQ_URL}[request.param]
    try:
        with Connection(url, connect_timeout=2) as connection:
            connection.ensure_connection(max_retries=1, timeout=2)
    except OSError:
        if url == REDIS_URL:
            missing("Redis")
        pytest.skip("RabbitMQ cannot be reached.")  # CI has none
    return url


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer, broker: str) -> Iterator[Home]:
    """A home with workers, and what the application's processes are told."""
    environ = {
        **endpoint(model_server.base_url),
        "BROKER": broker,
        "RESULTS": REDIS_URL,
        "QUEUE": f"own-{uuid.uuid4().hex}",
        "PUBLISHED": str(tmp_path / "published"),
    }
    home = Home(tmp_path, environ)
    with up(home, "--no-flower"):
        yield home


@pytest.fixture
def app(home: Home) -> Iterator[Celery]:
    """The application as its other programs know it: by name."""
    app = Celery("own", broker=home.environ["BROKER"], backend=REDIS_URL, set_as_current=False)
    app.conf.task_default_queue = home.environ["QUEUE"]
    yield app
    app.backend.result_consumer.stop()  # the application's own `close` leaves the backend's connections
    app.backend.client.connection_pool.disconnect()
    app.close()


@contextlib.contextmanager
def worker(home: Home) -> Iterator[Running]:
    """A worker of the application."""
    arguments = ("-A", "tests.own_app.project", "worker", "--pool", "threads", "--concurrency", "2")
    name = f"own-{uuid.uuid4().hex}@%h"  # RabbitMQ has one at a time under a name
    with home.launch("celery", *arguments, "-n", name, "--loglevel", "INFO", "--without-mingle") as running:
        running.wait_for(" ready.")
        yield running


def chain(app: Celery, text: str) -> Any:
    """A page that is fetched, summarised and published."""
    of = {name: app.signature(f"tests.own_app.project.{name}") for name in ("fetch", "publish")}
    turn = app.signature(NAME, (text,), {"session": "news"})
    return (of["fetch"].clone(("example.com",)) | turn | of["publish"]).apply_async()


def published(home: Home) -> list[str]:
    file = Path(home.environ["PUBLISHED"])
    return file.read_text().splitlines() if file.exists() else []


def test_a_chain_goes_on_when_its_turn_ends(home: Home, app: Celery) -> None:
    with worker(home):
        assert chain(app, "Summarise {0}").get(timeout=PATIENCE) == "You said: Summarise the page example.com"
        header = [app.signature(NAME, (f"Number {number}",)) for number in range(3)]
        compared = chord(header, app.signature(NAME, ("Compare {0[0]}, {0[1]}, {0[2]}",))).apply_async()
        said = ", ".join(f"You said: Number {number}" for number in range(3))
        assert compared.get(timeout=PATIENCE) == f"You said: Compare {said}"
    assert len(published(home)) == 1


def test_a_failed_turn_ends_the_chain_with_its_reason(
    home: Home, app: Celery, model_server: ModelServer
) -> None:
    model_server.follow([Refuse(status=401, message="Incorrect API key provided")])
    with worker(home), pytest.raises(TurnFailed, match="Incorrect API key provided"):
        chain(app, "Summarise {0}").parent.get(timeout=PATIENCE)
    assert published(home) == []


def test_no_worker_is_occupied_and_a_killed_one_on_either_side_ends_nothing(
    home: Home, app: Celery, model_server: ModelServer, broker: str
) -> None:
    model_server.follow(Script(rules=(Rule("Summarise", (Hold(answer=Answer(text="A summary.")),)),)))
    with worker(home) as first:
        waiting = chain(app, "Summarise {0}")
        wait_until(lambda: waiting.parent.state == "RETRY", "the turn is waited for")
        for number in range(3):  # more than it has threads
            chain(app, f"Summarise number {number}: {{0}}")
        others = app.signature("tests.own_app.project.fetch", ("other",)).apply_async()
        assert others.get(timeout=PATIENCE) == "the page other"
        model_server.wait_until(lambda: bool(model_server.requests))
        # Redis returns what a killed worker held after its visibility timeout, and not before 100 seconds.
        first.signal(signal.SIGKILL if broker == RABBITMQ_URL else signal.SIGTERM)
        first.end()
    for process in processes_running(home, "hermes_jobs worker"):
        os.kill(process, signal.SIGKILL)
    model_server.release()
    with worker(home):
        assert waiting.get(timeout=PATIENCE) == "A summary."
        wait_until(lambda: len(published(home)) == 4, "all chains have ended")
    assert published(home) == ["A summary."] * 4


def test_a_message_that_comes_again_hands_nothing_on(home: Home, app: Celery) -> None:
    turn = app.signature(NAME, ("Hello.",), task_id=uuid.uuid4().hex)
    turn.link(app.signature("tests.own_app.project.publish"))
    with worker(home) as running:
        for number in (1, 2):
            result = turn.apply_async()
            running.wait_for(f"{NAME}[{result.id}] {('succeeded', 'ignored')[number - 1]}")
        assert result.get(timeout=PATIENCE) == "You said: Hello."
        wait_until(lambda: bool(published(home)), "it is published")
    assert published(home) == ["You said: Hello."]


def test_of_messages_that_were_doubled_while_the_turn_runs_one_goes_on(
    home: Home, app: Celery, model_server: ModelServer
) -> None:
    model_server.follow([Hold(answer=Answer(text="A summary."))])
    turn = app.signature(NAME, ("Summarise",), task_id=uuid.uuid4().hex)
    turn.link(app.signature("tests.own_app.project.publish"))
    with worker(home) as running:
        result, *_ = (turn.apply_async() for _ in range(3))
        ended = f"{NAME}[{result.id}] ignored"
        wait_until(lambda: running.err.count(ended) == 2, "two of three have ended")
        model_server.release()
        assert result.get(timeout=PATIENCE) == "A summary."
        wait_until(lambda: bool(published(home)), "it is published")
    assert published(home) == ["A summary."]


def test_revoking_the_task_cancels_its_turn(home: Home, app: Celery, model_server: ModelServer) -> None:
    model_server.follow([Hold()])
    with worker(home):
        waiting = chain(app, "Summarise {0}")
        wait_until(lambda: waiting.parent.state == "RETRY", "the turn is waited for")
        model_server.wait_until(lambda: bool(model_server.requests))
        waiting.parent.revoke()
        with pytest.raises(TaskRevokedError):
            waiting.parent.get(timeout=PATIENCE)
        turn = home.run("turns", "show", "last", "--json").json
        wait_until(lambda: home.turn(turn["turn"])["status"] == "cancelled", "the turn is cancelled")
    assert published(home) == []
