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
ON_BOTH = {
    "test_chaos.py",
    "test_kills_inline.py",
    "test_leases_and_tools.py",
    "test_workers_under_load.py",
}
"""What depends on how a database keeps locks and what of it a killed process leaves."""
BETWEEN = {("before", "sqlite"), ("within", "sqlite"), ("within", "postgres"), ("after", "postgres")}
"""Kills between appends and within one, for the tests on both databases."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """CI has a sample of the databases and the moments of a kill; `FAULTS=full` has all.

    A kill within an append leaves the log as one before it and one after the append before that.
    """
    for item in items:
        if not FULL and item.path.parent == Path(__file__).parent and not _is_in_ci(item):
            item.add_marker(pytest.mark.nightly)


def _is_in_ci(item: pytest.Item) -> bool:
    parameters = (
        item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    )
    moment, database = parameters.get("moment"), parameters.get("log_url")
    if item.path.name in ON_BOTH:
        return moment is None or (moment, database) in BETWEEN
    return database is None or (database == "sqlite" and moment not in {"before", "after"})


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
