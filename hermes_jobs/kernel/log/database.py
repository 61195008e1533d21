"""The port of a database for the log; `sqlite` and `postgres` implement it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from hermes_jobs.errors import HermesJobsError

Values = Mapping[str, Any]


class Cursor(Protocol):
    """The result of a statement, as in PEP 249."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    def fetchone(self) -> Any:
        """The next row, a tuple; None where there is none."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""


class Connection(Protocol):
    """A driver's connection, with `sqlite3`'s additions to PEP 249, and `batch`. Parameters: `:name`.

    It raises the driver's own errors, of the classes that it carries.
    """

    @property
    def Error(self) -> type[Exception]:
        """Any exception of the driver."""

    @property
    def DataError(self) -> type[Exception]:
        """A value that the database cannot take."""

    @property
    def IntegrityError(self) -> type[Exception]:
        """A constraint that the statement would break."""

    @property
    def ProgrammingError(self) -> type[Exception]:
        """A statement that cannot be executed."""

    def execute(self, sql: str, values: Values = ..., /) -> Cursor:
        """Run a statement."""

    def executemany(self, sql: str, rows: Iterable[Values], /) -> Cursor:
        """Run a statement with each of these, in order."""

    def batch(self) -> AbstractContextManager[object]:
        """Until it ends, statements may be sent without waiting for their results, which nobody reads."""

    def commit(self) -> None:
        """Commit the transaction."""

    def rollback(self) -> None:
        """Roll the transaction back."""


Begin = Callable[[bool], Connection]


class Database(Protocol):
    """A database that one writer at a time changes, and many read. Safe for many threads and processes."""

    poll_seconds: float
    """How long a change by another process may stay unnoticed by a waiting one."""

    rung_poll_seconds: float
    """The same for one that is notified: how long if a notification is lost, or none was made."""

    durable_always: bool
    """Whether processes may continue after a crash of the database's machine. If so, no event is visible to a
    reader before it is on disk."""

    def write_lock(self) -> AbstractContextManager[Begin]:
        """Hold the database's only write lock, among all processes.

        Yields the function that begins the one transaction, given whether its commit must be on disk when it
        returns. The caller of that function also commits or rolls back.
        """

    def has_committed(self, connection: Connection) -> bool:
        """Whether the transaction of that writer is committed although its commit raised an error: the answer
        may have been lost with the connection. False also where the database cannot tell."""

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection whose every statement reads all committed data."""

    def snapshot(self) -> AbstractContextManager[Connection]:
        """A connection for reading one snapshot, however long the read takes."""

    def subscribe(self, on_notification: Callable[[], None], /) -> bool:
        """Call `on_notification` in a thread when a process of another host has written; whether that can be.

        The first call counts. True also where all that write are on this host.
        """

    def change_counter(self) -> int:
        """A number that differs from the one before when another process has committed since. Cheap."""

    def erase_deleted(self) -> bool:
        """Overwrite deleted and replaced data; whether none of it is left in the database's files.

        False while a reader still uses an earlier snapshot: the caller can try again.
        """

    def translated(self, error: Exception) -> HermesJobsError | None:
        """The project's error for it, with cause and hint; None if the database did not raise it.

        It holds no password and no stored text.
        """

    def close(self) -> None:
        """Release every connection."""


class LogDatabase(Database, Protocol):
    """A database that may not have the log's tables yet."""

    def has_table(self, connection: Connection, name: str) -> bool:
        """Whether there is a table of that name."""

    def schema_statements(self) -> Sequence[str]:
        """The statements that make the tables which are missing."""
