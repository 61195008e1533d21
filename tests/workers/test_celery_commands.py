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


def asked(home: Home, workers: set[str], *words: str) -> Ran:
    """Ask these workers by name: the command ends as soon as all have answered."""
    names = ",".join(f"{worker}@{socket.gethostname()}" for worker in workers)
    return celery(home, *words, "--timeout", "10", "--destination", names)


def inspected(home: Home, workers: set[str], what: str) -> dict[str, Any]:
    """What they answered, by the id under which `queues` lists them; empty where nobody did."""
    ran = asked(home, workers, "inspect", what, "--json")
    return {} if ran.code else {name.partition("@")[0]: answer for name, answer in ran.json.items()}


def hears_all(home: Home) -> bool:
    """Whether a call to nobody by name comes back from everybody in time."""
    return all(
        worker in celery(home, "inspect", "ping", "--timeout", "2").out for worker in live_workers(home)
    )


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


@pytest.mark.nightly  # a dozen commands of Celery, each a new interpreter: many minutes on a slow machine
@pytest.mark.timeout(1200)
def test_inspect_and_control_reach_the_workers_and_lose_nothing(home: Home) -> None:
    first = live_workers(home)
    (worker,) = first
    wait_until(lambda: hears_all(home), "the answer to `ping`")
    assert inspected(home, first, "active") == {worker: []}
    assert "turn.call_model" in inspected(home, first, "registered")[worker]
    assert inspected(home, first, "stats")[worker]["pool"]["max-concurrency"] == 256

    with home.start("run", "worker", "-Q", "turns,tools", "-c", "2"):
        wait_until(lambda: len(live_workers(home)) == 2, "the second worker")
        both = live_workers(home)
        (second,) = both - first
        wait_until(lambda: set(inspected(home, both, "ping")) == both, "its answer")
        queues = {
            name: {queue["name"] for queue in consumed}
            for name, consumed in inspected(home, both, "active_queues").items()
        }
        assert queues == {worker: set(ALL_QUEUES), second: {"turns", "tools"}}

        assert asked(home, both, "control", "cancel_consumer", "turns").code == 0
        turn = home.send("hello", "--no-wait")["turn"]
        assert asked(home, both, "control", "revoke", f"{turn}-prefetch").code == 0
        assert asked(home, both, "control", "rate_limit", "turn.call_model", "100/m").code == 0
        assert asked(home, both, "control", "add_consumer", "turns").code == 0
        assert home.run("turns", "wait", turn).code == 0, "a revoked message is sent again"

    celery(home, "control", "shutdown")
    wait_until(lambda: live_workers(home).isdisjoint(first), "the end of the worker")
    assert home.send("and again")["status"] == "completed"


def test_what_celery_cannot_do_here_says_so(tmp_path: Path, model_server: ModelServer) -> None:
    home = Home(tmp_path, endpoint(model_server.base_url))
    with up(home, "--no-flower"):
        assert "no attribute 'grow'" in asked(home, live_workers(home), "control", "pool_grow").out
        assert "Start it with `hermes-jobs run worker`" in celery(home, "worker").err
        assert "Start it with `hermes-jobs run beat`" in celery(home, "beat").err


def test_without_a_broker_the_hint_says_how_to_start_one(tmp_path: Path) -> None:
    ran = celery(Home(tmp_path, {}), "inspect", "ping")
    assert ran.code != 0
    assert "`hermes-jobs up` starts everything" in ran.err
