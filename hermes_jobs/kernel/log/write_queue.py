"""Group commit: the writes of a process's threads that wait at the same moment share one transaction.

There is no writer thread. The first thread in the queue leads: it takes the database's write lock, executes
all writes in the queue, and commits once. Then the next in the queue leads, so that no thread works for
others longer than one batch, and other processes can write between two batches.

Writes rarely fail. A batch is therefore executed in one savepoint; where one write fails, all are rolled back
and executed again, each in its own savepoint. A write may therefore run twice.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar, cast

from hermes_jobs.errors import HermesJobsError, LogUnavailable
from hermes_jobs.kernel.log.database import Connection, Database

T = TypeVar("T")
Act = Callable[[Connection], Any]

BATCH_WRITES = 64
BATCH_CHARACTERS = 4_000_000


class _QueuedWrite:
    """A write that waits. `wakeup` is released when it is done, or when it has to lead the next batch."""

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
    """Runs writes in transactions, first in, first out.

    `on_commit` is called once for a transaction in which a write `notifies`, by its leader, before any of the
    waiting threads returns. `refusal`: every write raises it.
    """

    def __init__(
        self,
        database: Database,
        on_commit: Callable[[], None] = lambda: None,
        refusal: HermesJobsError | None = None,
    ) -> None:
        self._database = database
        self._refusal = refusal
        self._on_commit = on_commit
        self._mutex = threading.Lock()
        self._waiting: deque[_QueuedWrite] = deque()
        self._led = False

    def run(
        self, act: Callable[[Connection], T], *, durable: bool, size: int = 0, notifies: bool = False
    ) -> T:
        """Execute and commit a write.

        `size`: about how many characters it writes; `notifies`: others may wait for it.

        Raises what `act` raises, after rolling it back; or the database's failure as the project's error,
        without a write.
        """
        if self._refusal is not None:
            raise self._refusal
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
        """Hand over the lead; remove a write that has not begun, where an interrupt ended the wait."""
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
                except BaseException:
                    with suppress(connection.Error):  # of a lost connection: the first error is raised
                        connection.rollback()
                    raise
                self._commit(connection)
        except Exception as error:  # noqa: BLE001 - each waiting thread raises it
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
            finally:  # also after a Ctrl-C during `on_commit`
                for entry in batch:
                    entry.set_done()

    def _commit(self, connection: Connection) -> None:
        try:
            connection.commit()
        except BaseException as error:
            with suppress(connection.Error):
                connection.rollback()
            if not isinstance(error, connection.Error) or not self._database.has_committed(connection):
                raise

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
        """Execute a write so that its failure affects no other."""
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
        """The error for one waiting thread: the project's error where it is the database's."""
        worded = self._database.translated(error)
        if worded is None:
            return error
        worded.__cause__ = error
        return worded


def _is_fatal(error: Exception, connection: Connection) -> bool:
    """Whether the database itself failed, so that the rest of the batch would fail, too."""
    own_fault = (connection.DataError, connection.IntegrityError, connection.ProgrammingError)
    return isinstance(error, connection.Error) and not isinstance(error, own_fault)
