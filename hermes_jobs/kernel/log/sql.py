"""The log over SQL: the port's methods, the same for every database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from hermes_jobs.errors import Corrupt, HermesJobsError, NewerSchema
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log import statements as sql
from hermes_jobs.kernel.log.append import PreparedAppend, needs_newer
from hermes_jobs.kernel.log.budget_rows import to_charge
from hermes_jobs.kernel.log.codec import Codec, escaped, to_json, unescaped
from hermes_jobs.kernel.log.database import Connection, Database, Values
from hermes_jobs.kernel.log.log import IMPORTING, Append, Head, KeyRow, StepRow, WorkerRow
from hermes_jobs.kernel.log.notifier import ProcessNotifier
from hermes_jobs.kernel.log.rows import AnyRow, to_head, to_key_row, to_recorded, to_step_row, to_worker_row
from hermes_jobs.kernel.log.write_queue import WriteQueue
from hermes_jobs.kernel.streams.accounts import Charge
from hermes_jobs.kernel.streams.forgetting import KEY_SCOPE, NEWEST
from hermes_jobs.kernel.streams.streams import is_known
from hermes_jobs.kernel.turns.steps import Queue

T = TypeVar("T")
NOTHING: Values = {}

AT_ONCE = 1000  # positions that one statement names

_NEWEST = {"scope": KEY_SCOPE, "key": NEWEST}


class SqlEventLog:
    """An `EventLog` in a database that speaks SQL. `hermes_jobs.kernel.log.factory` makes one."""

    def __init__(
        self,
        database: Database,
        log_id: str,
        codec: Codec,
        notifier: ProcessNotifier | None = None,
        read_only: HermesJobsError | None = None,
    ) -> None:
        """Without a notifier, other processes find this one's writes at their next poll. `read_only`: every
        write raises it."""
        self._database = database
        self._notifier = notifier
        self._log_id = log_id
        self._codec = codec
        self._forgotten = 0
        self._queue = WriteQueue(database, self._notify_all, read_only)
        self._written = 0
        self._written_condition = threading.Condition()
        self._notified = threading.Event()

    @property
    def log_id(self) -> str:
        return self._log_id

    @property
    def is_local(self) -> bool:
        return not self._database.durable_always

    @property
    def codec(self) -> Codec:
        """How this build reads and writes events."""
        return self._codec

    @property
    def forgotten(self) -> int:
        return self._forgotten

    def append(self, change: Append) -> tuple[RecordedEvent, ...]:
        prepared = PreparedAppend(change, self._codec)
        durable = change.durable or self._database.durable_always
        return self._queue.run(
            prepared.execute, durable=durable, size=prepared.size, notifies=prepared.has_events
        )

    def head(self, stream: str) -> Head | None:
        row = self._first(sql.SELECT_HEAD, name=escaped(stream))
        return _unless_importing(None if row is None else to_head(row))

    def read(self, stream: str, after: int = 0, upto: int | None = None) -> Sequence[RecordedEvent]:
        """A stream's events. Raises `NewerSchema`, and `Corrupt` where its last events are missing."""
        with self._reading() as connection:
            name = escaped(stream)
            row = connection.execute(sql.SELECT_HEAD_FORGOTTEN, {"name": name, **_NEWEST}).fetchone()
            if row is None:
                return ()
            *head_row, forgotten = row
            head = _unless_importing(to_head(tuple(head_row)))
            self._forgotten = forgotten or 0
            if head is None:
                return ()
            if head.min_build_level > self._codec.reads_up_to and is_known(stream):
                raise NewerSchema(needs_newer(head))
            values = {"name": name, "after": after, "upto": head.version if upto is None else upto}
            rows = connection.execute(sql.SELECT_STREAM, values).fetchall()
        events = [to_recorded(row, self._codec) for row in rows]
        if upto is None and after < head.version and (not events or events[-1].version < head.version):
            raise Corrupt(
                f"{stream} has lost its last events: its head says version {head.version}. "
                "Run `hermes-jobs log events verify`."
            )
        return events

    def tail(
        self, after: int = 0, limit: int = 1000, *, stream: str | None = None
    ) -> Sequence[RecordedEvent]:
        events: list[RecordedEvent] = []
        chosen = _of(stream, sql.SELECT_TAIL, sql.SELECT_TAIL_OF_STREAM)
        for row in self._all(*chosen, after=after, most=limit):
            try:
                events.append(to_recorded(row, self._codec))
            except NewerSchema:
                if not events:
                    raise
                break
        return events

    def at(self, positions: Iterable[int]) -> Sequence[RecordedEvent]:
        numbers = list(map(int, positions))
        parts = (numbers[start : start + AT_ONCE] for start in range(0, len(numbers), AT_ONCE))
        batches = (self._all(*sql.select_at(part)) for part in parts)
        return [to_recorded(row, self._codec) for rows in batches for row in rows]

    def last_position(self) -> int:
        position: int = self._scalar(sql.SELECT_LAST_POSITION)
        return position

    def wait(self, after: int, seconds: float) -> bool:
        has_doorbell = self._notifier is not None and self._notifier.subscribe(self._on_notification)
        database = self._database
        is_notified = has_doorbell and database.subscribe(self._on_notification)
        poll_seconds = database.rung_poll_seconds if is_notified else database.poll_seconds
        deadline = time.monotonic() + seconds
        while True:
            written, pulse = self._written, self._change_counter()
            if self.last_position() > after:
                return True
            while True:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return False
                self._wait_for_write(written, min(remaining, poll_seconds))
                if self._written != written or self._change_counter() != pulse:
                    break
            if self.last_position() > after:
                return True

    def wait_for_others(self, seconds: float) -> bool:
        rung = self._notified.wait(seconds)
        self._notified.clear()
        return rung

    def streams(self, prefix: str = "") -> Sequence[Head]:
        first = escaped(prefix)
        rows = self._all(sql.SELECT_HEADS, first=first, beyond=first + sql.LAST_CHARACTER)
        return [head for row in rows if (head := _unless_importing(to_head(row))) is not None]

    def importing_streams(self) -> Sequence[Head]:
        """The progress of partly imported streams; other processes do not read them."""
        rows = self._all(sql.SELECT_HEADS_AT, level=IMPORTING)
        return [to_head(row) for row in rows]

    def step(self, step_id: str) -> StepRow | None:
        row = self._first(sql.SELECT_STEP, name=escaped(step_id))
        return None if row is None else to_step_row(row)

    def steps(self, stream: str | None = None) -> Sequence[StepRow]:
        chosen = _of(stream, sql.SELECT_STEPS, sql.SELECT_STEPS_OF_STREAM)
        return [to_step_row(row) for row in self._all(*chosen)]

    def claimed_by_others(self, worker: str) -> Sequence[StepRow]:
        return [to_step_row(row) for row in self._all(sql.SELECT_STEPS_OF_OTHERS, worker=escaped(worker))]

    def due(
        self, now: float, *, stream: str | None = None, queue: Queue | None = None, limit: int = 1000
    ) -> Sequence[StepRow]:
        level = self._codec.reads_up_to
        of_queue = _of(queue, sql.SELECT_DUE, sql.SELECT_DUE_OF_QUEUE)
        chosen = of_queue if stream is None else _of(stream, sql.SELECT_DUE, sql.SELECT_DUE_OF_STREAM)
        rows = self._all(*chosen, now=now, most=limit, level=level)
        return [to_step_row(row) for row in rows]

    def next_due_at(self, *, stream: str | None = None, queue: Queue | None = None) -> float | None:
        of_queue = _of(queue, sql.SELECT_NEXT_DUE, sql.SELECT_NEXT_DUE_OF_QUEUE)
        of_stream = _of(stream, sql.SELECT_NEXT_DUE, sql.SELECT_NEXT_DUE_OF_STREAM)
        chosen = of_queue if stream is None else of_stream
        moment: float | None = self._scalar(*chosen, level=self._codec.reads_up_to)
        return moment

    def key(self, scope: str, key: str) -> KeyRow | None:
        row = self._first(sql.SELECT_KEY, scope=escaped(scope), name=escaped(key))
        return None if row is None else to_key_row(row)

    def account(self, account: str) -> Charge:
        return to_charge(account, self._first(sql.SELECT_ACCOUNT, account=escaped(account)))

    def result(self, call: str) -> str | None:
        content: str | None = self._scalar(sql.SELECT_RESULT, name=escaped(call))
        return None if content is None else msgspec.json.decode(content, type=str)

    def register(self, worker: WorkerRow) -> None:
        values = {
            "id": escaped(worker.id),
            "name": escaped(worker.name),
            "locks": escaped(worker.locks),
            "lanes": to_json(worker.queues),
            "beats": worker.beats,
            "reader": worker.build_level,
        }

        def enter(connection: Connection) -> None:
            connection.execute(sql.DELETE_WORKER, {"name": values["id"]})
            connection.execute(sql.INSERT_WORKER, values)

        self._queue.run(enter, durable=False)

    def heartbeat(self, worker: str) -> bool:
        name = {"name": escaped(worker)}
        return self._queue.run(
            lambda connection: connection.execute(sql.BEAT, name).rowcount == 1, durable=False
        )

    def publish(self, worker: str, status: str) -> None:
        values = {"worker": escaped(worker), "status": status}
        self._queue.run(lambda connection: connection.execute(sql.UPSERT_STATUS, values), durable=False)

    def statuses(self) -> Mapping[str, str]:
        return {unescaped(worker): status for worker, status in self._all(sql.SELECT_STATUS)}

    def unregister(self, worker: str) -> None:
        name = {"name": escaped(worker)}

        def leave(connection: Connection) -> None:
            connection.execute(sql.DELETE_STATUS, name)
            connection.execute(sql.DELETE_WORKER, name)

        self._queue.run(leave, durable=False)

    def evict(self, worker: WorkerRow) -> bool:
        name = {"name": escaped(worker.id)}

        def remove(connection: Connection) -> bool:
            if connection.execute(sql.EVICT_WORKER, {**name, "beats": worker.beats}).rowcount != 1:
                return False
            connection.execute(sql.DELETE_STATUS, name)
            return True

        return self._queue.run(remove, durable=False)

    def workers(self) -> Sequence[WorkerRow]:
        return [to_worker_row(row) for row in self._all(sql.SELECT_WORKERS)]

    def close(self) -> None:
        if self._notifier is not None:
            self._notifier.close()
        self._database.close()

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection for reading the tables themselves, all as of one moment."""
        with self._translated(), self._database.snapshot() as connection:
            yield connection

    def erase_deleted(self) -> bool:
        """Overwrite deleted and replaced data; whether none of it is left in the database's files."""
        with self._translated():
            return self._database.erase_deleted()

    def change_tables(self, act: Callable[[Connection], T]) -> T:
        """Run `act` on the tables, in one transaction that is rolled back if it raises.

        Other writers wait for it.
        """
        return self._queue.run(act, durable=True, notifies=True)

    def _notify_all(self) -> None:
        self._notify_threads()
        if self._notifier is not None:
            self._notifier.notify()

    def _notify_threads(self) -> None:
        with self._written_condition:
            self._written += 1
            self._written_condition.notify_all()

    def _on_notification(self) -> None:
        self._notified.set()
        self._notify_threads()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._translated(), self._database.reading() as connection:
            yield connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            translation = self._database.translated(error)
            if translation is None:
                raise
            raise translation from error

    def _all(self, statement: str, named: Values = NOTHING, /, **values: Any) -> Sequence[AnyRow]:
        with self._reading() as connection:
            return connection.execute(statement, {**named, **values}).fetchall()

    def _first(self, statement: str, /, **values: Any) -> AnyRow | None:
        rows = self._all(statement, **values)
        return rows[0] if rows else None

    def _scalar(self, statement: str, named: Values = NOTHING, /, **values: Any) -> Any:
        rows = self._all(statement, named, **values)
        return rows[0][0] if rows else None

    def _change_counter(self) -> int:
        with self._translated():
            return self._database.change_counter()

    def _wait_for_write(self, written: int, seconds: float) -> None:
        with self._written_condition:
            if self._written == written:
                self._written_condition.wait(seconds)


def _unless_importing(head: Head | None) -> Head | None:
    """The head of a stream that is there as a whole."""
    return None if head is None or head.min_build_level == IMPORTING else head


def _of(name: str | None, everywhere: str, of_one: str) -> tuple[str, Values]:
    """The statement for all streams (or queues) or the one for a single one, with that one's name."""
    return (everywhere, NOTHING) if name is None else (of_one, {"name": escaped(name)})
