"""A home on each kind of log, before the scripted model server, and a file in which effects are counted."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.runtime.broker_address import find_server
from tests.faults.crew import Crew
from tests.faults.redis_server import RedisServer
from tests.faults.script import NOTE
from tests.home import Home, endpoint
from tests.model_server import ModelServer

FULL = os.environ.get("FAULTS") == "full"
ON_SQLITE = ("test_delegation_kills.py",)
"""Every append of a turn and its children. On PostgreSQL CI has those of a turn, by `test_kills_inline`."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Only `FAULTS=full` runs the tests that take minutes, and every moment of a kill on both databases."""
    left_out = [] if FULL else [item for item in items if _is_for_full(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _is_for_full(item: pytest.Item) -> bool:
    """Kills within an append run on both databases, but for `ON_SQLITE`; others on one of them."""
    parameters = (
        item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    )
    case = (parameters.get("moment"), parameters.get("log_url"))
    return (
        bool(item.get_closest_marker("minutes"))
        or case in {("before", "postgres"), ("after", "sqlite")}
        or (item.path.name in ON_SQLITE and parameters.get("log_url") == "postgres")
    )


@pytest.fixture
def rng() -> random.Random:
    """Chance; a failed test shows its seed."""
    seed = random.SystemRandom().randrange(2**32)
    sys.stdout.write(f"seed {seed}\n")
    return random.Random(seed)


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    """Each line an effect; it is in the working folder of the home's turns, where commands may write."""
    return tmp_path / "work" / "effects"


@pytest.fixture
def home(tmp_path: Path, log_url: str, model_server: ModelServer) -> Home:
    """A home whose log is of the test's own, on each kind of database."""
    home = Home(tmp_path, {**endpoint(model_server.base_url), "HERMES_JOBS_LOG_URL": log_url})
    (home.work / NOTE).write_text("Remember the milk.")
    return home


@pytest.fixture
def broker(log_url: str, tmp_path: Path) -> Iterator[RedisServer]:
    """A broker that the test may kill: the embedded one's server beside SQLite, Redis beside PostgreSQL."""
    redis = shutil.which("redis-server")
    with RedisServer(
        find_server() if log_url.startswith("sqlite") or redis is None else redis, tmp_path
    ) as server:
        yield server


@pytest.fixture
def crew(home: Home, broker: RedisServer) -> Iterator[Crew]:
    """Workers of that home on that broker; none is started yet."""
    home.environ["HERMES_JOBS_BROKER_URL"] = broker.url
    with Crew([home]) as crew:
        yield crew
