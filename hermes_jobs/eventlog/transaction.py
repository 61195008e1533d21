"""A log within one transaction that somebody else began and will commit, or take back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.eventlog.append import PreparedAppend
from hermes_jobs.eventlog.codec import Codec
from hermes_jobs.eventlog.database import Begin, Connection
from hermes_jobs.eventlog.log import Append, RecordedEvent
from hermes_jobs.eventlog.sql import SqlEventLog


class TransactionLog(SqlEventLog):
    """Sees what the transaction has written so far, and appends to it. For one thread, while it is open."""

    def __init__(self, connection: Connection, log_id: str, codec: Codec) -> None:
        super().__init__(_OpenTransaction(connection), log_id, codec)
        self.connection = connection

    def append(self, change: Append) -> tuple[RecordedEvent, ...]:
        return PreparedAppend(change, self._codec).execute(self.connection)


class _OpenTransaction:
    """The `Database` that there is inside a transaction: one connection, for everything."""

    poll_seconds = 0.0
    durable_always = False

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def write_lock(self) -> AbstractContextManager[Begin]:
        raise AssertionError("a transaction cannot begin another")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        yield self._connection

    def snapshot(self) -> AbstractContextManager[Any]:
        raise AssertionError("a transaction is no moment of its own")

    def change_counter(self) -> int:
        return 0

    def erase_deleted(self) -> bool:
        raise AssertionError("a transaction erases nothing")

    def translated(self, error: Exception) -> HermesJobsError | None:
        return None  # whoever began the transaction words it

    def close(self) -> None:
        """It is not ours to close."""
