"""Fixtures that tests of several layers share."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.sql import SqlEventLog
from tests.examples import IN_CI
from tests.model_server import ModelServer
from tests.services import postgres_schema

# An example may take its time on a busy machine: no test measures time.
settings.register_profile("quick", deadline=None, max_examples=IN_CI // 4)
settings.register_profile("repeatable", deadline=None, max_examples=IN_CI, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# A shell starts what it runs in the background with Ctrl-C ignored, and processes hand that down.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# So does nohup with the end of a terminal.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage among tests while they are collected, nor ever after: they stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave `nightly` to those who name it or the test; each worker begins with slow tests."""
    named = (
        "nightly" in config.option.markexpr
        or os.environ.get("FAULTS") == "full"
        or any("::" in argument for argument in config.args)
    )
    left_out = [item for item in items if not named and item.get_closest_marker("nightly")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        without = set(left_out)
        items[:] = [item for item in items if item not in without]
    items[:] = in_shares(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def in_shares(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """The tests in the parts that `--dist worksteal` gives to workers, the slow ones of each part first."""
    slow = [item for item in items if item.get_closest_marker("slow")]
    others = [item for item in items if not item.get_closest_marker("slow")]
    shares: list[pytest.Item] = []
    for left in range(workers, 0, -1):
        size, num_slow = (len(slow) + len(others)) // left, len(slow) // left
        shares += (*slow[:num_slow], *others[: size - num_slow])
        del slow[:num_slow], others[: size - num_slow]
    return shares


SLOW_TESTS_UNTIL = time.monotonic() + 60 * float(os.environ.get("SLOW_TESTS_MINUTES", "inf"))
"""After it the rest of the slow tests is skipped: the machine is several times slower than usual."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Free what a failed test has left open, so that no later test is blamed for it.

    Its traceback keeps it alive: https://docs.python.org/3/library/sys.html#sys.last_traceback
    """
    if time.monotonic() > SLOW_TESTS_UNTIL and item.get_closest_marker("slow"):
        pytest.skip("the time for slow tests is over (SLOW_TESTS_MINUTES): make test-slow")
    if hasattr(sys, "last_value"):
        del sys.last_type, sys.last_value, sys.last_traceback
        sys.last_exc = None  # type: ignore[attr-defined, unused-ignore]  # as of Python 3.12
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def log_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty log of the test's own, on each kind of database."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path / "events.db")
    else:
        with postgres_schema() as url:
            yield url


@pytest.fixture
def log(log_url: str) -> Iterator[SqlEventLog]:
    """That log, open."""
    log = open_log(log_url)
    yield log
    log.close()


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """An OpenAI-compatible server on loopback that answers by a script."""
    server = ModelServer().start()
    yield server
    server.close()
