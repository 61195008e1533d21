"""Celery's own commands, `celery -A workers …`, as somebody runs them who operates Celery."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.runtime.broker_address import find_server
from hermes_jobs.runtime.queues import ALL_QUEUES
from tests.faults.redis_server import RedisServer
from tests.home import Home, Ran, endpoint
from tests.model_server import ModelServer
from tests.tools.support import wait_until
from tests.workers.test_up import live_workers, up

pytestmark = pytest.mark.slow


def celery(home: Home, *words: str) -> Ran:
    """Run `celery -A workers` with these words."""
    with home.launch("celery", "-A", "workers", *words) as running:
        return running.end()


def inspected(home: Home, what: str, *workers: str) -> dict[str, Any]:
    """What these workers answered, by the id under which `queues` lists them; asked by name, none is waited
    for once all have answered."""
    names = ",".join(f"{worker}@{socket.gethostname()}" for worker in workers)
    ran = celery(home, "inspect", what, "--timeout", "10", "--json", "--destination", names)
    return {name.partition("@")[0]: answer for name, answer in ran.json.items()}


def heard(home: Home) -> set[str]:
    """Who answers a call to everybody within a second."""
    ran = celery(home, "inspect", "ping", "--json")
    return set() if ran.code else {name.partition("@")[0] for name in ran.json}


@pytest.fixture(params=["embedded", "redis"])
def home(request: pytest.FixtureRequest, tmp_path: Path, model_server: ModelServer) -> Iterator[Home]:
    """A home with its `up`, on the broker that it starts itself and on a Redis of ours."""
    environ = endpoint(model_server.base_url)
    if request.param == "embedded":
        home = Home(tmp_path, environ)
        with up(home, "--no-flower"):
            yield home
        return
    with RedisServer(find_server(), tmp_path) as broker:
        home = Home(tmp_path, {**environ, "HERMES_JOBS_BROKER_URL": broker.url})
        with up(home, "--no-flower"):
            yield home


def test_inspect_and_control_reach_the_workers_and_lose_nothing(home: Home) -> None:
    (worker,) = live_workers(home)
    wait_until(lambda: heard(home) == {worker}, "its answer")
    assert inspected(home, "active", worker) == {worker: []}
    assert "turn.call_model" in inspected(home, "registered", worker)[worker]
    assert inspected(home, "stats", worker)[worker]["pool"]["max-concurrency"] == 256
    assert "no attribute 'grow'" in celery(home, "control", "pool_grow").out

    with home.start("run", "worker", "-Q", "turns,tools", "-c", "2"):
        wait_until(lambda: len(live_workers(home)) == 2, "the second worker")
        (second,) = live_workers(home) - {worker}
        wait_until(lambda: heard(home) == {worker, second}, "its answer")
        queues = {
            name: {queue["name"] for queue in consumed}
            for name, consumed in inspected(home, "active_queues", worker, second).items()
        }
        assert queues == {worker: set(ALL_QUEUES), second: {"turns", "tools"}}

        assert celery(home, "control", "cancel_consumer", "turns").code == 0
        turn = home.send("hello", "--no-wait")["turn"]
        assert celery(home, "control", "revoke", f"{turn}-prefetch").code == 0
        assert celery(home, "control", "rate_limit", "turn.call_model", "100/m").code == 0
        assert celery(home, "control", "add_consumer", "turns").code == 0
        assert home.run("turns", "wait", turn).code == 0, "a revoked message is sent again"

    celery(home, "control", "shutdown")
    wait_until(lambda: live_workers(home).isdisjoint({worker}), "the end of the worker")
    assert home.send("and again")["status"] == "completed"


def test_workers_and_schedulers_are_started_otherwise(tmp_path: Path) -> None:
    home = Home(tmp_path, {"HERMES_JOBS_BROKER_URL": "redis://127.0.0.1:1"})
    assert "Start it with `hermes-jobs run worker`" in celery(home, "worker").err
    assert "Start it with `hermes-jobs run beat`" in celery(home, "beat").err


def test_without_a_broker_the_hint_says_how_to_start_one(tmp_path: Path) -> None:
    ran = celery(Home(tmp_path, {}), "inspect", "ping")
    assert ran.code != 0
    assert "`hermes-jobs up` starts everything" in ran.err
