"""Celery's own commands, `celery -A workers …`, as somebody runs them who operates Celery."""

from __future__ import annotations

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


def inspected(home: Home, what: str) -> dict[str, Any]:
    """What the workers answered, by the id under which `queues` lists them."""
    ran = celery(home, "inspect", what, "--timeout", "10", "--json")
    return {name.partition("@")[0]: answer for name, answer in ran.json.items()}


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
    assert inspected(home, "ping") == {worker: {"ok": "pong"}}
    assert inspected(home, "active") == {worker: []}
    assert "turn.call_model" in inspected(home, "registered")[worker]
    assert inspected(home, "stats")[worker]["pool"]["max-concurrency"] == 256

    with home.start("run", "worker", "-Q", "turns,tools", "-c", "2"):
        wait_until(lambda: len(live_workers(home)) == 2, "the second worker")
        wait_until(lambda: len(inspected(home, "ping")) == 2, "its answer")
        queues = {
            name: {queue["name"] for queue in consumed}
            for name, consumed in inspected(home, "active_queues").items()
        }
        assert queues.pop(worker) == set(ALL_QUEUES)
        assert list(queues.values()) == [{"turns", "tools"}]

        assert celery(home, "control", "cancel_consumer", "turns").code == 0
        turn = home.send("hello", "--no-wait")["turn"]
        assert celery(home, "control", "revoke", f"{turn}-prefetch").code == 0
        assert celery(home, "control", "rate_limit", "turn.call_model", "100/m").code == 0
        assert celery(home, "control", "add_consumer", "turns").code == 0
        assert home.run("turns", "wait", turn).code == 0, "a revoked message is sent again"

    celery(home, "control", "shutdown")
    wait_until(lambda: live_workers(home).isdisjoint({worker}), "the end of the worker")
    assert home.send("and again")["status"] == "completed"


def test_what_celery_cannot_do_here_says_so(home: Home) -> None:
    assert "no attribute 'grow'" in celery(home, "control", "pool_grow").out
    assert "Start it with `hermes-jobs run worker`" in celery(home, "worker").err
    assert "Start it with `hermes-jobs run beat`" in celery(home, "beat").err


def test_without_a_broker_the_hint_says_how_to_start_one(tmp_path: Path) -> None:
    ran = celery(Home(tmp_path, {}), "inspect", "ping")
    assert ran.code != 0
    assert "`hermes-jobs up` starts everything" in ran.err
