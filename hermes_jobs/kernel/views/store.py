"""Keeps rows current with the log: catches up, rebuilds, and repairs broken files.

Rows and checkpoint change in one transaction, and the checkpoint is read again under the write lock, so that
any number of threads and processes may catch up at once and each event is applied exactly once. The
checkpoint stores the hash of its event: a log that was restored from a backup, or replaced, has another one,
and the views are rebuilt. They are also rebuilt if their file is missing, broken, or of another schema, a
hash of the tables, the known kinds of streams and `CONTENTS`.

A reader never waits long for the write lock: if another process holds it (for example one that was stopped
during a catch-up), the query runs on a private copy that applies the missing events itself.

Plain `sqlite3`, not SQLAlchemy: the views only ever use SQLite (FTS5, one file a host), the statements are
fixed, and a row costs a quarter of the time.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from sqlite3 import Connection
from typing import Final, NamedTuple, TypeVar

from hermes_jobs.errors import Corrupt, HermesJobsError, LogUnavailable, NewerSchema
from hermes_jobs.kernel.events import TextsForgotten
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.streams.forgetting import KEY_SCOPE, NEWEST
from hermes_jobs.kernel.streams.streams import prefixes
from hermes_jobs.kernel.views.generations import Generations
from hermes_jobs.kernel.views.projection import Projection, Router
from hermes_jobs.kernel.views.sqlite import (
    BUSY_SECONDS,
    CHECKPOINT,
    READ_SECONDS,
    checkpoint,
    connect,
    copy_of,
    create,
    is_broken,
    is_busy,
    move_checkpoint,
    transaction,
    wait_for_others,
    wording,
)
from hermes_jobs.system.file_lock import described, sqlite_writer

logger = logging.getLogger(__name__)

CONTENTS: Final = 2  # raise it when the same events give other rows in the same tables; a test says when
BATCH = 1000  # events a transaction
BULK = 20_000  # events that a rebuild takes at once: the search index likes them in one piece
ATTEMPTS = 6  # builds and switches that one answer may meet

OnProgress = Callable[[int, int], None]
T = TypeVar("T")


def schema_of(projections: Iterable[Projection]) -> int:
    """The number, of 31 bits, by which a file of these tables is recognised.

    It depends on the known kinds of streams, too: the events of others are in no row.
    """
    tables = sorted(projection.tables for projection in projections if projection.tables)
    made_of = (str(CONTENTS), CHECKPOINT, *tables, *sorted(prefixes()))
    digest = hashlib.sha256("\n".join(made_of).encode()).digest()
    return int.from_bytes(digest[:4]) >> 1


class LogRewound(HermesJobsError):
    """The log does not contain, or no longer contains, the events that these rows were made from."""


class Progress(NamedTuple):
    """The position up to which events are applied; `stopped`: why the rest cannot be applied."""

    position: int
    stopped: str | None = None


class OpenGeneration(NamedTuple):
    """A thread's connection to one generation."""

    file: Path
    connection: Connection


class Store:
    """The generations of one installation's views. Safe for many threads and processes."""

    def __init__(
        self,
        log: EventLog,
        folder: Path,
        projections: Sequence[Projection],
        built: Callable[[Connection], None],
        notify: Callable[[str], None] = logger.warning,
        progress: OnProgress = lambda position, last: None,
    ) -> None:
        """`built` finishes the tables of a new generation, before the first read. `notify`
        is called with a sentence that names the process it waits for; `progress` with the position and the
        log's last one, after each batch of which rows are built."""
        self.generations = Generations(folder, notify)
        self._notify = notify
        self._log = log
        self._projections = tuple(projections)
        self.schema = schema_of(self._projections)
        self._router = Router(self._projections)
        self._built = built
        self._progress = progress
        self._local = threading.local()
        self._connections: list[Connection] = []
        self._catching_up = threading.Lock()
        self._verified: set[Path] = set()

    def read(self, query: Callable[[Connection], T]) -> T:
        """The query's result over rows that are current with the log, in one snapshot."""
        return self._healing(lambda opened: self._current_answer(opened, query))

    def stopped(self) -> str | None:
        """Why rows cannot follow the log to its end, if they cannot. Raises what `catch_up` does."""
        return self._healing(lambda opened: self._current(opened)[1].stopped)

    def catch_up(self) -> Progress:
        """Apply the log's new events.

        Raises `LogUnavailable` if the log or the views cannot be read or written, `Corrupt` if the log is
        broken. Stops before an event that only a newer hermes-jobs can read.
        """
        return self._healing(self._catch_up)

    def rebuild(self) -> None:
        """Replay the log into a new generation while readers use the old one; they follow by themselves."""
        self._build(self.generations.current())

    def delete_old(self) -> None:
        """Delete every generation but the current one, such as that of a process that was killed."""
        with self.generations.building():
            self.generations.delete_others()

    def close(self) -> None:
        """Release the connections of all threads."""
        while self._connections:
            self._connections.pop().close()
        self._local = threading.local()

    # --- one generation -------------------------------------------------------------------------

    def _healing(self, act: Callable[[OpenGeneration], T]) -> T:
        broken: sqlite3.Error | None = None
        for _ in range(ATTEMPTS):
            opened = self._open()
            if opened is None:
                continue
            try:
                return act(opened)
            except LogRewound:
                self._build(opened.file)
            except sqlite3.Error as error:
                self._explain_unless_broken(error)
                broken = error
                self._build(opened.file)
        raise LogUnavailable(
            f"The views in {self.generations.folder} break as soon as they are built ({broken})."
        ) from broken

    def _open(self) -> OpenGeneration | None:
        """This thread's connection to the current generation; None if the caller must try again."""
        file = self.generations.current()
        opened: OpenGeneration | None = getattr(self._local, "opened", None)
        if opened is not None and opened.file == file:
            return opened
        self._forget(opened)
        connection = self._connect(file) if file else None
        if connection is None or file is None:
            self._build(file)
            return None
        if self.generations.current() != file:  # it may have been deleted before it was open
            connection.close()
            return None
        self._connections.append(connection)
        self._local.opened = OpenGeneration(file, connection)
        return OpenGeneration(file, connection)

    def _connect(self, file: Path) -> Connection | None:
        with ExitStack() as opened:
            try:
                connection = opened.enter_context(closing(connect(file)))
                if checkpoint(connection, self.schema, self._log.log_id) is not None:
                    opened.pop_all()
                    return connection
            except sqlite3.Error as error:
                self._explain_unless_broken(error)
        return None

    def _forget(self, opened: OpenGeneration | None) -> None:
        if opened is not None:
            self._local.opened = None
            opened.connection.close()
            if opened.connection in self._connections:
                self._connections.remove(opened.connection)

    def _explain_unless_broken(self, error: sqlite3.Error) -> None:
        if not is_broken(error):
            folder = self.generations.folder
            raise LogUnavailable(f"The views in {folder} cannot be used: {wording(error)}.") from error

    # --- catching up ----------------------------------------------------------------------------

    def _current_answer(self, opened: OpenGeneration, query: Callable[[Connection], T]) -> T:
        opened, _ = self._current(opened)
        with transaction(opened.connection, "DEFERRED"):
            return query(opened.connection)

    def _current(self, opened: OpenGeneration) -> tuple[OpenGeneration, Progress]:
        """Rows that are current with the log: those of the generation, or of a copy if it is locked."""
        try:
            return opened, self._catch_up(opened, READ_SECONDS)
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
        opened = self._copied(opened)
        return opened, self._catch_up(opened)

    def _copied(self, opened: OpenGeneration) -> OpenGeneration:
        """This thread's copy of that generation, made at the first use."""
        previous: OpenGeneration | None = getattr(self._local, "aside", None)
        if previous is not None and previous.file == opened.file:
            return previous
        pid = sqlite_writer(opened.file)
        holder = "another process" if pid is None else described(pid)
        self._notify(f"The views are locked: {holder} takes events in. A copy of them answers.")
        copy = copy_of(opened.connection)
        self._connections.append(copy)
        self._local.aside = OpenGeneration(opened.file, copy)
        return OpenGeneration(opened.file, copy)

    def _catch_up(self, opened: OpenGeneration, patience: float = BUSY_SECONDS) -> Progress:
        last = self._log.last_position()
        position, event_hash = self._stands(opened.connection)
        if position == last and opened.file in self._verified:
            return Progress(position)
        if position > last and position > self._log.last_position():  # another process may have been faster
            raise LogRewound
        caught_up = Progress(position)
        with self._catching_up:
            wait_for_others(opened.connection, patience)
            while caught_up.position < last and caught_up.stopped is None:
                with transaction(opened.connection, "IMMEDIATE"):
                    caught_up = self._advance(opened.connection, BATCH, last)
            if opened.file not in self._verified and caught_up.position == position:
                self._unread(position, event_hash, 1)
        self._verified.add(opened.file)
        return caught_up

    def _stands(self, connection: Connection) -> tuple[int, str]:
        row = checkpoint(connection, self.schema, self._log.log_id)
        if row is None:
            raise LogRewound
        return row

    def _advance(self, connection: Connection, batch: int, last: int, *, is_replay: bool = False) -> Progress:
        """At most `batch` events more, of a log that reached to `last` or beyond before this began.

        The connection holds the write lock. Raises `LogRewound` if texts were removed from the log that the
        rows contain: they are rebuilt in a new file.
        """
        position, event_hash = self._stands(connection)
        events, stopped = self._unread(position, event_hash, batch)
        if not events:
            if stopped is None and position < last:
                raise Corrupt(f"The log ends at position {position} and says that it continues to {last}.")
            return Progress(position, stopped)
        if not is_replay and any(isinstance(event.event, TextsForgotten) for event in events):
            raise LogRewound
        self._router.apply(connection, events)
        newest = events[-1]
        move_checkpoint(connection, newest.position, newest.hash)
        return Progress(newest.position)

    def _unread(
        self, position: int, event_hash: str, limit: int
    ) -> tuple[Sequence[RecordedEvent], str | None]:
        """At most `limit` events after the checkpoint; none, with the reason, before one that is too new.

        Raises `LogRewound` if the event at the checkpoint is not the applied one.
        """
        overlap = 1 if position else 0
        try:
            events = self._log.tail(position - overlap, limit + overlap)
            if overlap and (not events or (events[0].position, events[0].hash) != (position, event_hash)):
                raise LogRewound
            return events[overlap:] or self._log.tail(position, 1), None
        except NewerSchema as error:
            return (), str(error)

    # --- building -------------------------------------------------------------------------------

    def _build(self, instead_of: Path | None) -> None:
        """A new generation, unless another process has just replaced `instead_of`."""
        self._forget(getattr(self._local, "opened", None))
        try:
            with self.generations.building():
                self.generations.delete_others()
                if self.generations.current() == instead_of:
                    generation = self.generations.next()
                    newest = self._log.key(KEY_SCOPE, NEWEST)
                    self._replay(generation)
                    while newest != (newer := self._log.key(KEY_SCOPE, NEWEST)):
                        newest = newer  # texts were removed meanwhile: it may contain them
                        self.generations.delete_others()
                        self._replay(generation)
                    self.generations.switch_to(generation)
                    self.generations.delete_others()
        except (OSError, sqlite3.Error) as error:
            folder = self.generations.folder
            raise LogUnavailable(f"The views cannot be built in {folder}: {wording(error)}.") from error

    def _replay(self, generation: Path) -> None:
        last = self._log.last_position()
        connection = create(generation, self.schema, self._log.log_id, self._projections)
        try:
            caught_up = Progress(0)
            with transaction(connection, "IMMEDIATE"):  # it has no readers until it is complete
                while caught_up.position < last and caught_up.stopped is None:
                    caught_up = self._advance(connection, BULK, last, is_replay=True)
                    self._progress(caught_up.position, last)
                self._built(connection)
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
