"""The log in one SQLite file (and `FILE-wal`, `FILE-shm`), with `FILE.lock` beside it.

SQLite's busy handler is unfair: under load one process may wait for seconds. So writers queue for a lock on
`FILE.lock` before they begin. SQLite's write lock alone protects the data, also from programs that do not use
that file. Readers take no lock and never wait. Only SQLite opens the database file: closing any other
descriptor of it would drop the process's locks.

A process that forks must not use the log in the child. The file and the lock file must lie on a local disk.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path

from hermes_jobs.errors import Corrupt, HermesJobsError, LogUnavailable
from hermes_jobs.kernel.log.database import Begin, Connection
from hermes_jobs.kernel.log.schema import SQLITE, schema_statements
from hermes_jobs.system.file_lock import (
    NOTIFY_AFTER,
    WAIT_SECONDS,
    FileLock,
    LockTimeout,
    described,
    sqlite_writer,
)

logger = logging.getLogger(__name__)

BUSY_SECONDS = 10.0  # for programs that do not queue: backups, the sqlite3 shell
READ_WAIT_SECONDS = 30.0  # that a thread waits for a connection of another
READERS = 8  # connections of a process that read at the same time
WAL_BYTES = 64 * 1024 * 1024  # what a checkpoint leaves of a WAL that had to grow


class TooManyReaders(Exception):
    """No connection became free in time."""


class ReadPool:
    """Lends each connection to one thread at a time; at most `size` are open. Safe for many threads."""

    def __init__(self, connect: Callable[[], _Connection], size: int) -> None:
        self._connect = connect
        self._slots = threading.BoundedSemaphore(size)
        self._idle: list[_Connection] = []

    @contextmanager
    def lend(self) -> Iterator[_Connection]:
        """A connection without a transaction. Raises `TooManyReaders`, `sqlite3.Error`."""
        if not self._slots.acquire(timeout=READ_WAIT_SECONDS):
            raise TooManyReaders
        try:
            connection = self._idle_or_new()
            try:
                yield connection
            except BaseException:
                connection.close()  # it may have been interrupted anywhere
                raise
            self._idle.append(connection)
        finally:
            self._slots.release()

    def close(self) -> None:
        """Close the idle connections. New ones can be lent later."""
        while self._idle:
            self._idle_or_new().close()

    def _idle_or_new(self) -> _Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()


class _Connection(sqlite3.Connection):
    """A connection that waits for no server."""

    def batch(self) -> AbstractContextManager[object]:
        return nullcontext()


class SqliteDatabase:
    """One file of one host."""

    poll_seconds = 0.02
    rung_poll_seconds = 1.0  # every process that writes is on this host, and rings
    durable_always = False  # it is on a local disk: its readers crash with it

    def __init__(self, path: Path, notify: Callable[[str], None] = logger.warning) -> None:
        """Makes the file, readable by its owner alone, where it is missing. Raises `LogUnavailable`.

        `notify` is called with a sentence that names the process a writer waits for.
        """
        self._path = path.resolve()
        self._notify = notify
        try:
            lock = Path(f"{self._path}.lock")
            self._lock = FileLock(lock, "the log, to write to it", notify, seconds=WAIT_SECONDS)
            self._lock.open()
            if not self._path.exists():
                with self._lock.hold():
                    _make(self._path)
        except LockTimeout as late:
            raise self._locked_by(late) from late
        except OSError as error:
            raise LogUnavailable(
                f"The log {self._path} cannot be opened: {error.strerror} ({error.filename}). "
                "Its folder must exist and be yours to write."
            ) from error
        self._readers = ReadPool(self._connect, READERS)
        self._writer: _Connection | None = None
        self._synchronous: str | None = None
        self._busy_timeout: float | None = None
        self._watcher: _Connection | None = None
        self._watching = threading.Lock()

    @contextmanager
    def write_lock(self) -> Iterator[Begin]:
        with self._lock.hold():
            try:
                yield self._begin
            except sqlite3.Error:
                self._drop_writer()
                raise

    def _begin(self, durable: bool) -> Connection:
        if self._writer is None:
            self._writer = self._connect()
            self._writer.execute("PRAGMA journal_mode = wal")
        # A commit that is synchronous brings every earlier one to the disk with it: they share the WAL.
        synchronous = "full" if durable else "normal"
        if synchronous != self._synchronous:
            self._writer.execute(f"PRAGMA synchronous = {synchronous}")
            self._synchronous = synchronous
        self._lock_for_writing(self._writer)
        return self._writer

    def _lock_for_writing(self, writer: _Connection) -> None:
        """Take SQLite's own lock, which only programs hold that do not queue."""
        notify_after = min(NOTIFY_AFTER, BUSY_SECONDS)
        try:
            self._set_busy_timeout(writer, notify_after)
            writer.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            self._notify(f"Waiting for the log, to write to it: {self._other_writer()} has it locked.")
            self._set_busy_timeout(writer, BUSY_SECONDS - notify_after)
            writer.execute("BEGIN IMMEDIATE")

    def _set_busy_timeout(self, writer: _Connection, seconds: float) -> None:
        if seconds != self._busy_timeout:
            writer.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")
            self._busy_timeout = seconds

    def _other_writer(self) -> str:
        pid = sqlite_writer(self._path)
        return "another program" if pid is None else described(pid)

    def has_committed(self, _connection: Connection) -> bool:
        """False: what SQLite could not commit is rolled back."""
        return False

    def reading(self) -> AbstractContextManager[Connection]:
        return self._readers.lend()

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        with closing(self._connect()) as connection:
            connection.execute("BEGIN")
            yield connection

    def subscribe(self, _on_notification: Callable[[], None]) -> bool:
        return True

    def change_counter(self) -> int:
        with self._watching:
            if self._watcher is None:
                self._watcher = self._connect()
            version: int = self._watcher.execute("PRAGMA data_version").fetchone()[0]
            return version

    def erase_deleted(self) -> bool:
        # A separate lock: that of this process's writers is for one thread at a time.
        lock = FileLock(Path(f"{self._path}.lock"), "the log, to write to it", self._notify)
        try:
            with lock.hold(), closing(self._connect()) as connection:
                connection.execute("VACUUM")
                (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return not is_busy
        finally:
            lock.close()

    def translated(self, error: Exception) -> HermesJobsError | None:
        if isinstance(error, TooManyReaders):
            return LogUnavailable(f"Too many threads read the log {self._path} at once: try again.")
        if isinstance(error, LockTimeout):
            return self._locked_by(error)
        if isinstance(error, sqlite3.IntegrityError):
            return Corrupt(
                f"The log {self._path} contradicts itself: {error}. Run `hermes-jobs log events verify`."
            )
        if not isinstance(error, sqlite3.Error):
            return None
        code = getattr(error, "sqlite_errorname", "")
        if code.startswith("SQLITE_BUSY"):
            return LogUnavailable(
                f"The log {self._path} was locked for {BUSY_SECONDS:.0f} s by {self._other_writer()}. "
                "Close what holds it, then try again."
            )
        for prefix, kind, what in _FAILURES:
            if code.startswith(prefix):
                return kind(f"The log {self._path} {what}")
        return LogUnavailable(f"The log {self._path} cannot be used: {error} ({code or 'no code'}).")

    def _locked_by(self, late: LockTimeout) -> LogUnavailable:
        return LogUnavailable(
            f"The log {self._path} cannot be written: {late.holder} has kept it locked for "
            f"{late.seconds:.0f} s. Let that process continue or end it, then try again; nothing was "
            "recorded."
        )

    def close(self) -> None:
        # The last connection to close a file writes its WAL into it, which should not block anyone. If
        # another process is writing now, this one is not the last.
        with self._lock.try_hold():
            self._drop_writer()
            with self._watching:
                if self._watcher is not None:
                    self._watcher.close()
                    self._watcher = None
            self._readers.close()
        self._lock.close()

    def has_table(self, connection: Connection, name: str) -> bool:
        query = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = :name"
        return connection.execute(query, {"name": name}).fetchone() is not None

    def schema_statements(self) -> Sequence[str]:
        return schema_statements(SQLITE)

    def _connect(self) -> _Connection:
        # Transactions are begun by hand, and a connection is used by one thread at a time.
        connection = sqlite3.connect(
            self._path,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            factory=_Connection,
        )
        connection.execute("PRAGMA fullfsync = on")  # macOS: past the disk's own cache
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        return connection

    def _drop_writer(self) -> None:
        writer, self._writer, self._synchronous, self._busy_timeout = self._writer, None, None, None
        if writer is not None:
            with suppress(sqlite3.Error):
                writer.close()


_FAILURES: tuple[tuple[str, type[HermesJobsError], str], ...] = (
    ("SQLITE_FULL", LogUnavailable, "cannot grow: the disk is full. Free some space; this was not recorded."),
    (
        "SQLITE_READONLY",
        LogUnavailable,
        "cannot be written: the file, its folder or its disk is read-only. Mend the permissions.",
    ),
    (
        "SQLITE_CANTOPEN",
        LogUnavailable,
        "cannot be opened: the file or its folder is missing or not yours to read and write, or this process "
        "has too many files open (ulimit -n).",
    ),
    ("SQLITE_NOTADB", Corrupt, "is not a SQLite database. Restore it from a backup, or move it away."),
    ("SQLITE_CORRUPT", Corrupt, "is damaged. Restore it from a backup."),
    ("SQLITE_IOERR", LogUnavailable, "cannot be used: its disk is full or faulty. Look at the disk."),
)


def _make(path: Path) -> None:
    """Make an empty file for its owner alone, unless it is there; call it under the lock.

    Only a file that is not open yet may be opened and closed here: see the module's docstring.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
