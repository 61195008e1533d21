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

BATCH_ACTS = 64
BATCH_CHARACTERS = 4_000_000


class _Entry:
    """A waiting act. `bell` rings when it is settled, or when it is this entry's turn to lead."""

    __slots__ = ("act", "bell", "durable", "error", "leads", "news", "result", "settled", "size")

    def __init__(self, act: Act, durable: bool, size: int, news: bool) -> None:
        self.act = act
        self.durable = durable
        self.size = size
        self.news = news
        self.bell = threading.Lock()
        self.bell.acquire()
        self.leads = False
        self.settled = False
        self.result: Any = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        self.settled = True
        self.bell.release()


class WriteQueue:
    """Runs acts in write transactions, one after the other, in the order in which they came.

    `tell` is called once a transaction that holds news, by whoever led it, before anybody is answered.
    """

    def __init__(self, database: Database, tell: Callable[[], None] = lambda: None) -> None:
        self._database = database
        self._tell = tell
        self._mutex = threading.Lock()
        self._waiting: deque[_Entry] = deque()
        self._led = False

    def run(self, act: Callable[[Connection], T], *, durable: bool, size: int = 0, news: bool = False) -> T:
        """Carry out the act and commit it; `size` is about how many characters it writes, and `news` whether
        others wait for such.

        Raises what the act raises, having undone it; or the database's own failure in the project's words,
        with nothing of it written.
        """
        entry = _Entry(act, durable, size, news)
        with self._mutex:
            self._waiting.append(entry)
            entry.leads = not self._led
            self._led = True
        try:
            if not entry.leads:
                entry.bell.acquire()
            if entry.leads:
                self._lead()
        finally:
            self._leave(entry)
        error, entry.error = entry.error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback holds this frame: they would keep each other, and much else
        return cast(T, entry.result)

    def _leave(self, entry: _Entry) -> None:
        """Hand the lead on; and, where an interrupt ended the wait, take back what nobody has begun."""
        with self._mutex:
            if entry in self._waiting:
                self._waiting.remove(entry)
            if not entry.leads:
                return
            self._led = bool(self._waiting)
            if self._waiting:
                self._waiting[0].leads = True
                self._waiting[0].bell.release()

    def _lead(self) -> None:
        batch: Sequence[_Entry] = ()
        try:
            with self._database.write_lock() as begin:
                batch = self._take()
                connection = begin(any(entry.durable for entry in batch))
                try:
                    self._carry_out(connection, batch)
                    connection.commit()
                except BaseException:
                    with suppress(connection.Error):  # of a connection that is lost: why it is, is told
                        connection.rollback()
                    raise
        except Exception as error:  # noqa: BLE001 - each of those who wait is given it
            for entry in batch or self._take():
                entry.error = self._worded(error)
                entry.settle()
        except BaseException:
            for entry in batch:
                entry.error = LogUnavailable("The write was interrupted together with its process.")
                entry.settle()
            raise
        else:
            try:
                if any(entry.news and entry.error is None for entry in batch):
                    self._tell()
            finally:  # also where a Ctrl-C came while others were told
                for entry in batch:
                    entry.settle()

    def _take(self) -> Sequence[_Entry]:
        """The oldest waiting entries, at least one, up to the size of a batch."""
        batch: list[_Entry] = []
        size = 0
        with self._mutex:
            while self._waiting and len(batch) < BATCH_ACTS and size < BATCH_CHARACTERS:
                batch.append(self._waiting.popleft())
                size += batch[-1].size
        return batch

    def _carry_out(self, connection: Connection, batch: Sequence[_Entry]) -> None:
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
                self._carry_out_alone(connection, entry)

    def _carry_out_alone(self, connection: Connection, entry: _Entry) -> None:
        """Carry out an act so that its failure is its own."""
        connection.execute("SAVEPOINT act")
        try:
            entry.result = entry.act(connection)
        except Exception as error:
            if _is_fatal(error, connection):
                raise
            connection.execute("ROLLBACK TO SAVEPOINT act")
            entry.result, entry.error = None, self._worded(error)
        connection.execute("RELEASE SAVEPOINT act")

    def _worded(self, error: Exception) -> Exception:
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
