"""A connection to PostgreSQL: parameters by name, and a limit on the silence of its server."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from functools import cache
from typing import Any

from psycopg import Connection as DriverConnection
from psycopg import errors

from hermes_jobs.kernel.log.database import Cursor, Values

ANSWER_SECONDS = 40.0
"""A server's longest silence within an answer."""


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


class NamedConnection:
    """psycopg's connection as a `Connection`: it writes parameters `%(name)s`."""

    Error = errors.Error
    DataError = errors.DataError
    IntegrityError = errors.IntegrityError
    ProgrammingError = errors.ProgrammingError

    def __init__(self, connection: DriverConnection[Any]) -> None:
        self._connection = connection
        self.transaction = ""
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
