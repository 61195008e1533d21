"""The log in a schema of a PostgreSQL database: the first one of the connection's `search_path`.

Writers wait for an advisory lock before they draw positions and hold it until their commit is visible, so
that positions follow the order of commits and a reader of `position > n` misses no event. `durable` is the
server's setting (`synchronous_commit`); a heartbeat need not be durable and switches it off for itself.

The lock is held for a limited time: the server ends the transaction of a silent writer (frozen, unplugged,
behind a network that drops packets), and tests the connection to it meanwhile. A client closes a connection
that is silent for longer than that. All these limits are set within the transaction or in the client, so that
they apply behind PgBouncer, too.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from psycopg import Connection as DriverConnection
from psycopg import Error, errors
from sqlalchemy import URL, create_engine, make_url
from sqlalchemy.event import listen
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from hermes_jobs.errors import Corrupt, HermesJobsError, LogUnavailable, Misconfigured
from hermes_jobs.kernel.log.database import Begin, Connection
from hermes_jobs.kernel.log.listener import CHANNEL, Listener
from hermes_jobs.kernel.log.postgres_connection import (
    ANSWER_SECONDS,
    NamedConnection,
    TimeoutConnection,
    check_before_use,
    connect,
    note_use,
)
from hermes_jobs.kernel.log.schema import POSTGRES, schema_statements
from hermes_jobs.kernel.log.statements import SELECT_LAST_POSITION
from hermes_jobs.system.randomness import random_hex

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 5
NOTICE_SECONDS = 2  # seconds of waiting for the lock after which `notify` is called
IDLE_SECONDS = 8  # a writer's longest silence within its transaction
LOCK_SECONDS = 20  # of waiting for the turn: two writers may have vanished, one behind the other
ERASE_SECONDS = 3600.0  # the same while it writes its tables again
DOUBT_SECONDS = 10.0  # after which a writer gives up to learn whether its commit came to pass
CONNECTIONS = 8  # of one process, at most

_KEEPALIVE_SECONDS = 15  # after which a silent connection is tested by the network itself
_UNACKNOWLEDGED_SECONDS = 30  # without an acknowledgement by the server, after which a connection is closed

# https://www.postgresql.org/docs/current/runtime-config-connection.html#RUNTIME-CONFIG-TCP, and
# https://www.postgresql.org/docs/current/runtime-config-client.html
_LIMITS = {
    "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "3",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "15s",
}
_KEY = "hashtextextended('hermes-jobs log in ' || coalesce(current_schema(), ''), 0)"


def _lock_statement(seconds: float, origin: str) -> str:
    """Wait for the write lock for so long. The limits are set before: they apply during the wait, too.

    A commit notifies the processes that listen, with that origin.
    """
    limits = {"lock_timeout": f"{round(seconds * 1000)}ms", **_LIMITS}
    settings = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in limits.items())
    lock = f"SELECT {settings}, pg_advisory_xact_lock({_KEY}), pg_notify({CHANNEL}, '{origin}')"
    return f"BEGIN ISOLATION LEVEL READ COMMITTED; {lock}; SELECT pg_current_xact_id()::text"


_HOLDER = f"""
SELECT a.pid, a.application_name, a.client_addr, a.state,
       round(extract(epoch FROM clock_timestamp() - a.state_change))
FROM (SELECT {_KEY} AS number) AS key, pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND a.datname = current_database()
  AND l.classid::bigint = (key.number >> 32) & 4294967295 AND l.objid::bigint = key.number & 4294967295
"""


_STATUS = "SELECT pg_xact_status(CAST(:transaction AS xid8))"


class PostgresDatabase:
    """One schema of one server."""

    poll_seconds = 0.05
    rung_poll_seconds = 1.0
    durable_always = True

    def __init__(
        self, url: str, notify: Callable[[str], None] = logger.warning, notifier_folder: Path | None = None
    ) -> None:
        """Does not connect yet. `notify` is called with a sentence that names the process a writer waits for.
        Processes of one host and `notifier_folder` notify each other without the server.

        Raises `Misconfigured` where the URL cannot be read.
        """
        self._notify = notify
        self._origin = _origin(notifier_folder)
        self._listener: Listener | None = None
        self._listener_lock = threading.Lock()
        parsed = _parsed(url)
        self._name = f"{parsed.host or 'localhost'}:{parsed.port or 5432}/{parsed.database or ''}"
        self._secret = str(parsed.password or "")
        defaults: dict[str, Any] = {
            "connect_timeout": CONNECT_SECONDS,
            "keepalives_idle": _KEEPALIVE_SECONDS,
            "keepalives_interval": _KEEPALIVE_SECONDS,
            "keepalives_count": 2,
            "tcp_user_timeout": _UNACKNOWLEDGED_SECONDS * 1000,
            # A pool between us and the server (PgBouncer) gives each transaction another server connection:
            # a statement that one of them has prepared is unknown to, or another one in, the next.
            "prepare_threshold": None,
            "application_name": f"hermes-jobs {os.getpid()}@{socket.gethostname()}"[:63],
        }
        self._engine = create_engine(
            parsed,
            connect_args={name: value for name, value in defaults.items() if name not in parsed.query},
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_use_lifo=True,
            isolation_level="AUTOCOMMIT",  # each statement that reads is a transaction
            hide_parameters=True,
        )
        listen(self._engine, "do_connect", connect)
        listen(self._engine, "checkin", note_use)
        listen(self._engine, "checkout", check_before_use)

    @contextmanager
    def write_lock(self) -> Iterator[Begin]:
        with self._borrowed() as connection:
            self._acquire_write_lock(connection)

            def begin(durable: bool) -> Connection:
                if not durable:
                    connection.execute("SET LOCAL synchronous_commit = off")
                return connection

            yield begin

    def _acquire_write_lock(self, connection: NamedConnection) -> None:
        """Raises `LogUnavailable` where it does not come."""
        try:
            connection.begin(_lock_statement(NOTICE_SECONDS, self._origin))
        except errors.LockNotAvailable:
            connection.rollback()
            self._notify(f"Waiting for the log at {self._name}: {self._holder(connection)} writes to it.")
        else:
            return
        try:
            connection.begin(_lock_statement(LOCK_SECONDS - NOTICE_SECONDS, self._origin))
        except errors.LockNotAvailable as error:
            connection.rollback()
            raise LogUnavailable(
                f"The log at {self._name} was locked for {LOCK_SECONDS} s by others, at last by "
                f"{self._holder(connection)}. Nothing was recorded: try again."
            ) from error

    def has_committed(self, connection: Connection) -> bool:
        """The server keeps the status of every transaction. It is asked until it can say, for a while: it may
        be starting again, or still be committing."""
        assert isinstance(connection, NamedConnection), "it came from `write_lock`"
        give_up = time.monotonic() + DOUBT_SECONDS
        while True:
            with suppress(Error, DBAPIError, PoolExhausted), self._borrowed() as other:
                status = other.execute(_STATUS, {"transaction": connection.transaction}).fetchone()[0]
                if status != "in progress":
                    return bool(status == "committed")
            if time.monotonic() > give_up:
                return False
            time.sleep(self.poll_seconds)

    @staticmethod
    def _holder(connection: Connection) -> str:
        """The holder of the write lock, for messages."""
        row = connection.execute(_HOLDER).fetchone()
        if row is None:
            return "another process"
        pid, name, address, state, seconds = row
        where = f" from {address}" if address else ""
        return f"server process {pid} ({name or 'unnamed'}{where}; {state or 'unknown'} for {seconds} s)"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._borrowed() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        with self._borrowed() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield connection
            finally:
                with suppress(Error):  # of a lost connection: its cause is raised
                    connection.rollback()

    def change_counter(self) -> int:
        with self._borrowed() as connection:
            position: int = connection.execute(SELECT_LAST_POSITION).fetchone()[0]
            return position

    def subscribe(self, on_notification: Callable[[], None]) -> bool:
        with self._listener_lock:
            if self._listener is None:
                self._listener = Listener(self._lent, on_notification, self._origin)
        return self._listener.hears

    def erase_deleted(self) -> bool:
        """Blocks other writers: each table is rewritten. The server's WAL and its copies are not changed."""
        with closing(self._engine.raw_connection()) as lent:
            driver = lent.driver_connection
            assert isinstance(driver, TimeoutConnection)
            driver.answer_seconds = ERASE_SECONDS
            try:
                for table in ("events", "results", "keys", "blobs"):
                    driver.execute(f"VACUUM (FULL) {table}".encode())
            finally:
                driver.answer_seconds = ANSWER_SECONDS
        return True

    def has_table(self, connection: Connection, name: str) -> bool:
        query = "SELECT to_regclass(:name) IS NOT NULL"
        return bool(connection.execute(query, {"name": name}).fetchone()[0])

    def schema_statements(self) -> Sequence[str]:
        return schema_statements(POSTGRES)

    @contextmanager
    def _borrowed(self) -> Iterator[NamedConnection]:
        """A connection of the pool's, without a transaction before and after."""
        with closing(self._engine.raw_connection()) as lent:
            driver = lent.driver_connection
            assert isinstance(driver, DriverConnection)
            try:
                yield NamedConnection(driver)
            finally:
                if driver.closed:
                    lent.invalidate()  # else the pool would try to use it, and complain on standard error

    @contextmanager
    def _lent(self) -> Iterator[DriverConnection[Any]]:
        """A connection besides the pool's, closed afterwards."""
        lent = self._engine.raw_connection()
        driver = lent.driver_connection
        assert isinstance(driver, DriverConnection)
        lent.detach()
        with closing(driver):
            yield driver

    def translated(self, error: Exception) -> HermesJobsError | None:
        if isinstance(error, PoolExhausted):
            return LogUnavailable(f"More threads use the log at {self._name} than may connect: try again.")
        cause = error.orig if isinstance(error, DBAPIError) else error  # SQLAlchemy wraps it now and then
        if isinstance(cause, errors.IntegrityError):
            return Corrupt(f"The log at {self._name} contradicts itself: {self._first_line(cause)}.")
        if not isinstance(cause, Error):
            return None
        for kind, what in _FAILURES:
            if isinstance(cause, kind):
                return LogUnavailable(f"The log at {self._name} {what}")
        return LogUnavailable(
            f"The log at {self._name} cannot be used: {self._first_line(cause)}. "
            "See that PostgreSQL runs there and that the URL is right."
        )

    def close(self) -> None:
        with self._listener_lock:
            if self._listener is not None:
                self._listener.close()
        self._engine.dispose()

    def _first_line(self, cause: BaseException | None) -> str:
        """The first line of the message of the server or its client, without the password."""
        first = (str(cause).strip().splitlines() or [type(cause).__name__])[0].rstrip(".")
        return first.replace(self._secret, "…") if self._secret else first


def _origin(notifier_folder: Path | None) -> str:
    """Names the processes that notify each other by that folder; without one, this process."""
    if notifier_folder is None:
        return random_hex(8)
    place = f"{socket.gethostname()} {Path('/').stat().st_dev} {notifier_folder.absolute()}"
    return blake2b(os.fsencode(place), digest_size=8).hexdigest()


_FAILURES: tuple[tuple[type[Error], str], ...] = (
    (errors.DiskFull, "cannot grow: the server's disk is full. Free some space; this was not recorded."),
    (errors.ReadOnlySqlTransaction, "is read-only: the server is a standby, or the database was made so."),
    (errors.InsufficientPrivilege, "may not be used by this user: grant it the rights on the schema."),
    (
        errors.IdleInTransactionSessionTimeout,
        f"has ended this process's append: it had said nothing for {IDLE_SECONDS} s in the middle of it (a "
        "frozen process, a network that was away). Nothing was recorded: try again.",
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
