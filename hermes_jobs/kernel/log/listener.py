"""Hears from PostgreSQL that a process of another host has written to the log (LISTEN and NOTIFY).

https://www.postgresql.org/docs/current/sql-notify.html. A notification may be lost or superfluous: waiting
processes also poll the log, seldom while this listener hears, often while it does not.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any

from psycopg import Connection, Error
from sqlalchemy.exc import SQLAlchemyError

CHANNEL = "'hermes_jobs_' || md5(coalesce(current_schema(), ''))"
"""The channel of one log, as an expression."""

RETRY_SECONDS = 30.0  # after a lost connection
TEST_SECONDS = 15.0  # of silence after which the connection is tested
DEBOUNCE_SECONDS = 0.01  # in which several notifications count as one

Lend = Callable[[], AbstractContextManager[Connection[Any]]]
"""Lends a connection in autocommit, which is closed afterwards."""


class Listener:
    """A thread with a connection of its own, from the beginning to `close`."""

    def __init__(self, lend: Lend, on_notification: Callable[[], None], origin: str) -> None:
        """`origin` names processes whose notifications are not needed, because they make others, too."""
        self._lend = lend
        self._on_notification = on_notification
        self._origin = origin
        self._closing = threading.Event()
        self._wake_reader, self._wake_writer = os.pipe()
        self.hears = False
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and close its connection."""
        self._closing.set()
        os.write(self._wake_writer, b"!")
        self._thread.join()
        os.close(self._wake_reader)
        os.close(self._wake_writer)

    def _run(self) -> None:
        while not self._closing.is_set():
            with suppress(Error, SQLAlchemyError), self._lend() as connection:
                self.hears = self._subscribe(connection)
                if not self.hears:
                    return
                self._on_notification()  # of what came before
                self._listen(connection)
            self.hears = False
            self._closing.wait(RETRY_SECONDS)

    @staticmethod
    def _subscribe(connection: Connection[Any]) -> bool:
        """Whether notifications reach this connection. Behind a pool such as PgBouncer, which names a process
        of its own, they may not: it can lend a connection of the server for one transaction.
        """
        row = connection.execute(f"SELECT {CHANNEL}, pg_backend_pid()".encode()).fetchone()
        if row is None or row[1] != connection.info.backend_pid:
            return False
        connection.execute(f'LISTEN "{row[0]}"'.encode())
        return True

    def _listen(self, connection: Connection[Any]) -> None:
        """Call back for notifications until `close`. Raises `psycopg.Error` for a lost connection."""
        heard: list[str] = []
        connection.add_notify_handler(lambda notice: heard.append(notice.payload))
        poll = select.poll()
        for descriptor in (connection.fileno(), self._wake_reader):
            poll.register(descriptor, select.POLLIN)
        while not self._closing.is_set():
            if not poll.poll(TEST_SECONDS * 1000):
                connection.execute(b"SELECT 1")
            connection.pgconn.consume_input()
            while (notice := connection.pgconn.notifies()) is not None:
                heard.append(notice.extra.decode())
            if any(origin != self._origin for origin in heard):
                self._on_notification()
            heard.clear()
            self._closing.wait(DEBOUNCE_SECONDS)
