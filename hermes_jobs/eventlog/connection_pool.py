"""The connections that a process reads an SQLite file with."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WAIT_SECONDS = 30.0  # seconds that a thread waits for a connection of another


class TooManyReaders(Exception):
    """No connection became free in time."""


class ReadPool:
    """Lends each connection to one thread at a time; at most `size` are open. Safe for many threads."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], size: int) -> None:
        self._connect = connect
        self._slots = threading.BoundedSemaphore(size)
        self._idle: list[sqlite3.Connection] = []

    @contextmanager
    def lend(self) -> Iterator[sqlite3.Connection]:
        """A connection without a transaction. Raises `TooManyReaders`, `sqlite3.Error`."""
        if not self._slots.acquire(timeout=WAIT_SECONDS):
            raise TooManyReaders
        try:
            connection = self._idle_or_new()
            try:
                yield connection
            except BaseException:
                connection.close()  # who knows in what it was interrupted
                raise
            self._idle.append(connection)
        finally:
            self._slots.release()

    def close(self) -> None:
        """Close those that nobody has. Others may be lent later all the same."""
        while self._idle:
            self._idle_or_new().close()

    def _idle_or_new(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()
