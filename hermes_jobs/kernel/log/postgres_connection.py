"""A connection to PostgreSQL: parameters by name, and a limit on the silence of its server."""

from __future__ import annotations

import re
import select
import time
from collections.abc import Iterable
from functools import cache
from typing import Any

from psycopg import Connection as DriverConnection
from psycopg import Error, errors
from sqlalchemy.exc import DisconnectionError

from hermes_jobs.kernel.log.database import Cursor, Values

ANSWER_SECONDS = 40.0
"""A server's longest silence within an answer."""
FRESH = 1.0  # seconds after its last use in which a connection is not tested before the next one


class TimeoutConnection(DriverConnection[Any]):
    """Fails after a deadline without an answer: the network may have lost the statement."""

    answer_seconds = ANSWER_SECONDS

    def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
        """psycopg's loop over all that it waits for. Raises `psycopg.OperationalError`."""
        return super().wait(self._limited(gen), *arguments, **named)

    def _limited(self, gen: Any) -> Any:
        give_up = time.monotonic() + self.answer_seconds
        try:
            request = next(gen)
            while True:
                ready = yield request
                if ready:
                    give_up = time.monotonic() + self.answer_seconds
                elif time.monotonic() > give_up:
                    self.pgconn.finish()
                    raise errors.OperationalError(
                        f"the server has said nothing for {self.answer_seconds:.0f} s"
                    )
                request = gen.send(ready)
        except StopIteration as end:
            return end.value


def connect(_dialect: Any, _record: Any, arguments: Any, named: Any) -> TimeoutConnection:
    """A new connection, for SQLAlchemy's event `do_connect`."""
    return TimeoutConnection.connect(*arguments, **named)


def note_use(_driver: object, record: Any) -> None:
    """For SQLAlchemy's event `checkin`."""
    record.info["used_at"] = time.monotonic()


def check_before_use(driver: DriverConnection[Any], record: Any, _lent: object) -> None:
    """Run an empty statement on a connection, unless it was used a moment ago and has received nothing
    since: a server tells why it ends one. For SQLAlchemy's event `checkout`.

    Raises `DisconnectionError`: the pool then opens another one.
    """
    try:
        news = select.poll()
        news.register(driver.fileno(), select.POLLIN)
        is_fresh = time.monotonic() - record.info.get("used_at", float("-inf")) < FRESH
        if not is_fresh or news.poll(0):
            driver.execute(b"")
    except Error as error:
        raise DisconnectionError from error


class NamedConnection:
    """psycopg's connection as a `Connection`: it writes parameters `%(name)s`."""

    Error = errors.Error
    DataError = errors.DataError
    IntegrityError = errors.IntegrityError
    ProgrammingError = errors.ProgrammingError

    def __init__(self, connection: DriverConnection[Any]) -> None:
        self._connection = connection
        self.transaction = ""
        self.batch = connection.pipeline
        self.commit = connection.commit
        self.rollback = connection.rollback

    def begin(self, statements: str) -> None:
        """Run the statements that begin a transaction; the last one selects its id."""
        cursor = self._connection.execute(statements.encode())
        while cursor.nextset():
            pass
        [(self.transaction,)] = cursor.fetchall()

    def execute(self, sql: str, values: Values | None = None, /) -> Cursor:
        return self._connection.execute(_named(sql) if values else sql.encode(), values)

    def executemany(self, sql: str, rows: Iterable[Values], /) -> Cursor:
        cursor = self._connection.cursor()
        cursor.executemany(_named(sql), rows)
        return cursor


@cache
def _named(sql: str) -> bytes:
    return re.sub(r":(\w+)", r"%(\1)s", sql).encode()
