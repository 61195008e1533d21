"""The logs that the contracts are held against: those of `tests.conftest`, and one behind PgBouncer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.kernel.log.factory import sqlite_url
from tests.pgbouncer import pgbouncer_url
from tests.services import postgres_schema


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("pgbouncer", marks=pytest.mark.postgres),
    ]
)
def log_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty log of the test's own, on each kind of database and through a pool."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path / "events.db")
        return
    with postgres_schema() if request.param == "postgres" else pgbouncer_url() as url:
        yield url
