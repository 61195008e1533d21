"""Connections to a file of views: opening, creating, and recognising a broken file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection

from hermes_jobs.kernel.views.projection import Projection

BUSY_SECONDS = 30.0
READ_SECONDS = 1.0  # a query's longest wait for another process's catch-up, before it catches up in a copy
BUILDING_CACHE = 1 << 26  # bytes of pages that a new file's maker keeps in memory
CHECKPOINT = "CREATE TABLE checkpoint (position INTEGER NOT NULL, hash TEXT NOT NULL, log TEXT NOT NULL)"

# https://sqlite.org/rescode.html: no database, not whole, not there, without our tables, with other rows
BROKEN = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CONSTRAINT,
}


def is_broken(error: sqlite3.Error) -> bool:
    """Whether the error means that the file is broken, not only temporarily unusable."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is not None and (code & 0xFF in BROKEN or code == sqlite3.SQLITE_IOERR_SHORT_READ)


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process has the file locked."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF == sqlite3.SQLITE_BUSY


def copy_of(connection: Connection) -> Connection:
    """A connection to a private copy of the file, deleted with the connection."""
    copy = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    connection.backup(copy)
    return copy


def wait_for_others(connection: Connection, seconds: float) -> None:
    """Set how long a write through this connection waits for the lock."""
    connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")


def wording(error: sqlite3.Error | OSError) -> str:
    """Why a file cannot be used now, for users."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    full = code & 0xFF in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
    return "their disk is full or faulty" if full else str(error)


def connect(file: Path, *, seconds: float = BUSY_SECONDS) -> Connection:
    """A connection to an existing file, waiting at most so long for other writers. Raises `sqlite3.Error`."""
    connection = sqlite3.connect(
        f"{file.resolve().as_uri()}?mode=rw",
        uri=True,
        timeout=seconds,
        isolation_level=None,
        check_same_thread=False,  # one thread uses it; another may close it
    )
    try:
        # With WAL a crash of the machine takes the newest transactions, rows and checkpoint together.
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def create(file: Path, schema: int, log_id: str, projections: Iterable[Projection]) -> Connection:
    """A connection to a new file with empty tables, for its owner alone.

    It is made without durability: a crash leaves it unfinished.
    """
    file.touch(mode=0o600)
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute(f"PRAGMA cache_size = -{BUILDING_CACHE >> 10}")
    connection.execute(CHECKPOINT)
    connection.execute("INSERT INTO checkpoint VALUES (0, '', ?)", (log_id,))
    for projection in projections:
        connection.executescript(projection.tables)
    connection.execute(f"PRAGMA user_version = {schema:d}")
    return connection


def checkpoint(connection: Connection, schema: int, log_id: str) -> tuple[int, str] | None:
    """Position and hash of the newest applied event; None in a file of another schema or another log."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != schema:
        return None
    row = connection.execute("SELECT position, hash FROM checkpoint WHERE log = ?", (log_id,)).fetchone()
    return row and (row[0], row[1])


def move_checkpoint(connection: Connection, position: int, event_hash: str) -> None:
    """Record the position up to which events are applied."""
    # By its number: an UPDATE of rows that may be many makes FTS5 write what it has collected.
    values = (position, event_hash)
    connection.execute("UPDATE checkpoint SET position = ?, hash = ? WHERE rowid = 1", values)


@contextmanager
def transaction(connection: Connection, kind: str) -> Iterator[None]:
    """A transaction; `IMMEDIATE` takes the write lock first, `DEFERRED` reads one snapshot."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.rollback()
        raise
    connection.commit()
