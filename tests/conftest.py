"""Fixtures that tests of several layers share."""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.sql import SqlEventLog
from tests.model_server import ModelServer
from tests.services import postgres_schema

# An example may take its time on a busy machine: no test measures time.
settings.register_profile("patient", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "patient"))

# A shell starts what it runs in the background with Ctrl-C ignored, and processes hand that down.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# So does nohup with the end of a terminal.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options with which a second run does what a first one has left out, as CI does."""
    parser.addoption("--write-passed", type=Path, help="write the tests that pass into this file")
    parser.addoption("--skip-passed", type=Path, help="leave out the tests that this file names")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage among tests while they are collected, nor ever after: they stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Free what a failed test has left open, so that no later test is blamed for it.

    Its traceback keeps it alive: https://docs.python.org/3/library/sys.html#sys.last_traceback
    """
    if hasattr(sys, "last_value"):
        del sys.last_type, sys.last_value, sys.last_traceback
        sys.last_exc = None  # type: ignore[attr-defined, unused-ignore]  # as of Python 3.12
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


def pytest_configure(config: pytest.Config) -> None:
    """Collect what passes where that is to be written: in the process that hears from all others."""
    path = config.getoption("--write-passed")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(PassedTests(path))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what has passed elsewhere."""
    path = config.getoption("--skip-passed")
    if path:
        passed = set(path.read_text().splitlines())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]


class PassedTests:
    """Writes the names of the tests that passed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._names.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._path.write_text("".join(f"{name}\n" for name in self._names))


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
