"""The connections that a process reads an SQLite file with."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 30.0  # seconds that a thread waits for a connection of another


class TooManyReaders(Exception):
    """No connection became free in time."""


class ReadPool:
    """Lends each connection to one thread at a time; at most `size` are open. Safe for many threads."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], size: int) -> None:
        self._connect = connect
        self._room = threading.BoundedSemaphore(size)
        self._idle: list[sqlite3.Connection] = []

    @contextmanager
    def lend(self) -> Iterator[sqlite3.Connection]:
        """A connection without a transaction. Raises `TooManyReaders`, `sqlite3.Error`."""
        if not self._room.acquire(timeout=PATIENCE):
            raise TooManyReaders
        try:
            connection = self._taken()
            try:
                yield connection
            except BaseException:
                connection.close()  # who knows in what it was interrupted
                raise
            self._idle.append(connection)
        finally:
            self._room.release()

    def close(self) -> None:
        """Close those that nobody has. Others may be lent later all the same."""
        while self._idle:
            self._taken().close()

    def _taken(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()
