"""The log in a schema of a PostgreSQL database: the first one of the connection's `search_path`.

Writers wait for an advisory lock before they draw positions and hold it until their commit is visible, so
that positions come in the order of commits and who reads `position > n` misses nothing. `durable` is what
the server calls durable (`synchronous_commit`); an append that need not be switches that off for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from psycopg import Error, errors
from sqlalchemy import URL, Connection, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from hermes_jobs.domain.errors import Corrupt, HermesJobsError, LogUnavailable, Misconfigured
from hermes_jobs.eventlog.appending import LAST_POSITION
from hermes_jobs.eventlog.database import Begin
from hermes_jobs.eventlog.schema import is_unclaimed, unclaimed_steps

CONNECT_SECONDS = 5
LOCK_SECONDS = 10
CONNECTIONS = 8  # of one process, at most

_QUIET_SECONDS = 15  # after which a silent connection is tested by the network itself

_TAKE_TURN = text(
    f"SELECT set_config('lock_timeout', '{LOCK_SECONDS}s', true),"
    " pg_advisory_xact_lock(hashtextextended('hermes-jobs log in ' || coalesce(current_schema(), ''), 0))"
)

unclaimed_steps.dialect_options["postgresql"]["where"] = is_unclaimed


class PostgresDatabase:
    """One schema of one server."""

    poll_seconds = 0.05

    def __init__(self, url: str) -> None:
        """Does not connect yet. Raises `Misconfigured` where the URL cannot be read."""
        parsed = _parsed(url)
        self._name = f"{parsed.host or 'localhost'}:{parsed.port or 5432}/{parsed.database or ''}"
        self._secret = str(parsed.password or "")
        defaults: dict[str, Any] = {
            "connect_timeout": CONNECT_SECONDS,
            "keepalives_idle": _QUIET_SECONDS,
            "keepalives_interval": _QUIET_SECONDS,
            "keepalives_count": 2,
        }
        self._engine = create_engine(
            parsed,
            connect_args={name: value for name, value in defaults.items() if name not in parsed.query},
            pool_size=2,
            max_overflow=CONNECTIONS - 2,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED",
            hide_parameters=True,
        )

    @contextmanager
    def turn(self) -> Iterator[Begin]:
        with self._engine.connect() as connection:
            connection.execute(_TAKE_TURN)

            def begin(durable: bool) -> Connection:
                if not durable:
                    connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
                return connection

            yield begin

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        with self._engine.connect() as connection:
            yield connection.execution_options(isolation_level="REPEATABLE READ")

    def pulse(self) -> int:
        with self._engine.connect() as connection:
            position: int = connection.execute(LAST_POSITION).scalar_one()
            return position

    def translated(self, error: Exception) -> HermesJobsError | None:
        if isinstance(error, PoolExhausted):
            return LogUnavailable(f"More threads use the log at {self._name} than may connect: try again.")
        cause = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(cause, errors.IntegrityError):
            return Corrupt(f"The log at {self._name} contradicts itself: {self._said(cause)}.")
        if not isinstance(cause, Error):
            return None
        for kind, what in _FAILURES:
            if isinstance(cause, kind):
                return LogUnavailable(f"The log at {self._name} {what}")
        return LogUnavailable(
            f"The log at {self._name} cannot be used: {self._said(cause)}. "
            "See that PostgreSQL runs there and that the URL is right."
        )

    def close(self) -> None:
        self._engine.dispose()

    def _said(self, cause: BaseException | None) -> str:
        """The first line of what the server or its client said, without the password."""
        first = (str(cause).strip().splitlines() or [type(cause).__name__])[0].rstrip(".")
        return first.replace(self._secret, "…") if self._secret else first


_FAILURES: tuple[tuple[type[Error], str], ...] = (
    (errors.DiskFull, "cannot grow: the server's disk is full. Free some space; nothing was recorded."),
    (errors.ReadOnlySqlTransaction, "is read-only: the server is a standby, or the database was made so."),
    (errors.InsufficientPrivilege, "may not be used by this user: grant it the rights on the schema."),
    (
        errors.LockNotAvailable,
        f"was locked for {LOCK_SECONDS} s by another process. See pg_locks for who holds it, then try again.",
    ),
    (
        errors.InvalidSchemaName,
        "has no schema to hold the tables: create the one that the URL's search_path names.",
    ),
)


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
        return parsed.set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        # What the parser says may quote the URL, and with it the password.
        raise Misconfigured(
            "The log's URL cannot be read.", hint="Use postgresql://USER@HOST:PORT/DATABASE."
        ) from None
