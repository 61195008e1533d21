"""Fixtures that tests of several floors share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from hermes_jobs.eventlog.factory import open_log, sqlite_url
from hermes_jobs.eventlog.sql import SqlEventLog
from tests.model_server import ModelServer
from tests.services import postgres_schema

# An example may take its time on a busy machine: no test measures time.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


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
