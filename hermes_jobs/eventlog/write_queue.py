"""Group commit: the writes of a process's threads that wait at the same moment share one transaction.

There is no writer thread. The first to come leads: it takes the database's write turn, carries out whatever
has queued up by then, and commits once. Then the next in the queue leads, so that nobody serves others for
longer than one batch, and between two batches other processes have theirs.

Hardly ever does an act fail. So the acts of a batch are tried in a row; where one fails, all is undone and
they are carried out again, each in a savepoint of its own. An act may therefore run twice.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar, cast

from hermes_jobs.errors import LogUnavailable
from hermes_jobs.eventlog.database import Connection, Database

T = TypeVar("T")
Act = Callable[[Connection], Any]

BATCH_WRITES = 64
BATCH_CHARACTERS = 4_000_000


class _QueuedWrite:
    """A waiting act. `bell` rings when it is settled, or when it is this entry's turn to lead."""

    __slots__ = ("act", "done", "durable", "error", "leads", "notifies", "result", "size", "wakeup")

    def __init__(self, act: Act, durable: bool, size: int, notifies: bool) -> None:
        self.act = act
        self.durable = durable
        self.size = size
        self.notifies = notifies
        self.wakeup = threading.Lock()
        self.wakeup.acquire()
        self.leads = False
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def set_done(self) -> None:
        self.done = True
        self.wakeup.release()


class WriteQueue:
    """Runs acts in write transactions, one after the other, in the order in which they came.

    `tell` is called once a transaction that holds news, by whoever led it, before anybody is answered.
    """

    def __init__(self, database: Database, on_commit: Callable[[], None] = lambda: None) -> None:
        self._database = database
        self._on_commit = on_commit
        self._mutex = threading.Lock()
        self._waiting: deque[_QueuedWrite] = deque()
        self._led = False

    def run(
        self, act: Callable[[Connection], T], *, durable: bool, size: int = 0, notifies: bool = False
    ) -> T:
        """Carry out the act and commit it; `size` is about how many characters it writes, and `news` whether
        others wait for such.

        Raises what the act raises, having undone it; or the database's own failure in the project's words,
        with nothing of it written.
        """
        entry = _QueuedWrite(act, durable, size, notifies)
        with self._mutex:
            self._waiting.append(entry)
            entry.leads = not self._led
            self._led = True
        try:
            if not entry.leads:
                entry.wakeup.acquire()
            if entry.leads:
                self._lead()
        finally:
            self._hand_over(entry)
        error, entry.error = entry.error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback holds this frame: they would keep each other, and much else
        return cast(T, entry.result)

    def _hand_over(self, entry: _QueuedWrite) -> None:
        """Hand the lead on; and, where an interrupt ended the wait, take back what nobody has begun."""
        with self._mutex:
            if entry in self._waiting:
                self._waiting.remove(entry)
            if not entry.leads:
                return
            self._led = bool(self._waiting)
            if self._waiting:
                self._waiting[0].leads = True
                self._waiting[0].wakeup.release()

    def _lead(self) -> None:
        batch: Sequence[_QueuedWrite] = ()
        try:
            with self._database.write_lock() as begin:
                batch = self._next_batch()
                connection = begin(any(entry.durable for entry in batch))
                try:
                    self._execute_batch(connection, batch)
                    connection.commit()
                except BaseException:
                    with suppress(connection.Error):  # of a connection that is lost: why it is, is told
                        connection.rollback()
                    raise
        except Exception as error:  # noqa: BLE001 - each of those who wait is given it
            for entry in batch or self._next_batch():
                entry.error = self._translated(error)
                entry.set_done()
        except BaseException:
            for entry in batch:
                entry.error = LogUnavailable("The write was interrupted together with its process.")
                entry.set_done()
            raise
        else:
            try:
                if any(entry.notifies and entry.error is None for entry in batch):
                    self._on_commit()
            finally:  # also where a Ctrl-C came while others were told
                for entry in batch:
                    entry.set_done()

    def _next_batch(self) -> Sequence[_QueuedWrite]:
        """The oldest waiting entries, at least one, up to the size of a batch."""
        batch: list[_QueuedWrite] = []
        size = 0
        with self._mutex:
            while self._waiting and len(batch) < BATCH_WRITES and size < BATCH_CHARACTERS:
                batch.append(self._waiting.popleft())
                size += batch[-1].size
        return batch

    def _execute_batch(self, connection: Connection, batch: Sequence[_QueuedWrite]) -> None:
        if len(batch) == 1:
            batch[0].result = batch[0].act(connection)
            return
        connection.execute("SAVEPOINT batch")
        try:
            for entry in batch:
                entry.result = entry.act(connection)
        except Exception as error:
            if _is_fatal(error, connection):
                raise
            connection.execute("ROLLBACK TO SAVEPOINT batch")
            for entry in batch:
                self._execute_in_savepoint(connection, entry)

    def _execute_in_savepoint(self, connection: Connection, entry: _QueuedWrite) -> None:
        """Carry out an act so that its failure is its own."""
        connection.execute("SAVEPOINT act")
        try:
            entry.result = entry.act(connection)
        except Exception as error:
            if _is_fatal(error, connection):
                raise
            connection.execute("ROLLBACK TO SAVEPOINT act")
            entry.result, entry.error = None, self._translated(error)
        connection.execute("RELEASE SAVEPOINT act")

    def _translated(self, error: Exception) -> Exception:
        """The error for one of those who wait: in the project's words where it is the database's."""
        worded = self._database.translated(error)
        if worded is None:
            return error
        worded.__cause__ = error
        return worded


def _is_fatal(error: Exception, connection: Connection) -> bool:
    """Whether the failure is the database's, so that nothing else of the batch can succeed either."""
    own_fault = (connection.DataError, connection.IntegrityError, connection.ProgrammingError)
    return isinstance(error, connection.Error) and not isinstance(error, own_fault)
