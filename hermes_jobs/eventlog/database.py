"""What the log needs from a kind of database: one protocol, implemented beside it for each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection

from hermes_jobs.domain.errors import HermesJobsError

Begin = Callable[[bool], Connection]


class Database(Protocol):
    """A database that one writer at a time changes, and many read. Safe for many threads and processes."""

    poll_seconds: float
    """How long a change by another process may stay unseen by one who waits for it."""

    def turn(self) -> AbstractContextManager[Begin]:
        """Hold the database's only write turn, among all processes.

        What it yields begins the turn's one transaction, given whether its commit must be on disk when it
        returns. Who begins also commits or rolls back.
        """

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection that sees, with each statement, everything that is committed."""

    def snapshot(self) -> AbstractContextManager[Connection]:
        """A connection that sees one moment, however long it reads."""

    def pulse(self) -> int:
        """A number that differs from the one before when another process has committed since. Cheap."""

    def translated(self, error: Exception) -> HermesJobsError | None:
        """The error in the project's words: what was wrong, what to do; null where it is not the database's.

        It holds no password and no stored text.
        """

    def close(self) -> None:
        """Release every connection."""
