"""The servers that tests may need: where they are, and what happens where they are not."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import OperationalError

POSTGRES_URL = os.environ.get(
    "HERMES_JOBS_TEST_POSTGRES_URL", "postgresql+psycopg://root@127.0.0.1:5432/test"
)
RABBITMQ_URL = os.environ.get("HERMES_JOBS_TEST_RABBITMQ_URL", "amqp://guest:guest@127.0.0.1:5672//")
REDIS_URL = os.environ.get("HERMES_JOBS_TEST_REDIS_URL", "redis://127.0.0.1:6379/9")


def missing(what: str) -> NoReturn:
    """Skip the test for want of a server; where CI promises it, fail."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} cannot be reached, and CI promises it.")
    pytest.skip(f"{what} cannot be reached.")


@contextmanager
def postgres_schema() -> Iterator[str]:
    """The URL of an empty schema of its own, dropped afterwards."""
    name = f"test_{uuid.uuid4().hex}"
    engine = create_engine(POSTGRES_URL, isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 3})
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    except OperationalError:
        engine.dispose()
        missing("PostgreSQL")
    try:
        yield f"{POSTGRES_URL}{'&' if '?' in POSTGRES_URL else '?'}options=-csearch_path%3D{name}"
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE")
        engine.dispose()
