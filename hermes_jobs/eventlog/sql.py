"""The log over SQL: the port's methods, the same for every database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import Connection, Executable, and_, bindparam, delete, func, insert, or_, select, update

from hermes_jobs.domain.budgets import Charge
from hermes_jobs.domain.errors import NewerSchema
from hermes_jobs.domain.steps import LANES, Lane
from hermes_jobs.eventlog import schema as t
from hermes_jobs.eventlog.appending import HEAD, KEY, LAST_POSITION, PreparedAppend, needs_newer
from hermes_jobs.eventlog.charging import ACCOUNT, to_charge
from hermes_jobs.eventlog.codec import Codec
from hermes_jobs.eventlog.database import Database
from hermes_jobs.eventlog.log import Append, Head, KeyRow, Recorded, StepRow, WorkerRow
from hermes_jobs.eventlog.rows import AnyRow, to_head, to_key_row, to_recorded, to_step_row, to_worker_row
from hermes_jobs.eventlog.write_queue import WriteQueue

T = TypeVar("T")
Values = Mapping[str, Any]
NOTHING: Values = {}

_LAST_CHARACTER = "\U0010ffff"

_READ = (
    select(t.events)
    .where(
        t.events.c.stream == bindparam("name"),
        t.events.c.version > bindparam("after"),
        t.events.c.version <= bindparam("upto"),
    )
    .order_by(t.events.c.version)
)
_TAIL = (
    select(t.events)
    .where(t.events.c.position > bindparam("after"))
    .order_by(t.events.c.position)
    .limit(bindparam("most"))
)
_TAIL_OF_STREAM = _TAIL.where(t.events.c.stream == bindparam("name"))
_STREAMS = (
    select(t.streams)
    .where(t.streams.c.stream >= bindparam("first"), t.streams.c.stream < bindparam("beyond"))
    .order_by(t.streams.c.stream)
)
_STEP = select(t.steps).where(t.steps.c.id == bindparam("name"))
_STEPS = select(t.steps).order_by(t.steps.c.sequence)
_STEPS_OF_STREAM = _STEPS.where(t.steps.c.stream == bindparam("name"))
_STEPS_OF_OTHERS = _STEPS.where(t.steps.c.owner != bindparam("worker"))
_READABLE = and_(
    t.steps.c.owner.is_(None),
    t.steps.c.kind.in_(tuple(LANES)),
    or_(t.streams.c.reader.is_(None), t.streams.c.reader <= bindparam("level")),
)
_WITH_HEADS = t.steps.outerjoin(t.streams, t.streams.c.stream == t.steps.c.stream)
_DUE = (
    select(t.steps)
    .select_from(_WITH_HEADS)
    .where(_READABLE, t.steps.c.not_before <= bindparam("now"))
    .order_by(t.steps.c.not_before, t.steps.c.sequence)
    .limit(bindparam("most"))
)
_DUE_OF_STREAM = _DUE.where(t.steps.c.stream == bindparam("name"))
_DUE_OF_LANE = _DUE.where(t.steps.c.lane == bindparam("name"))
_NEXT_DUE = select(func.min(t.steps.c.not_before)).select_from(_WITH_HEADS).where(_READABLE)
_NEXT_DUE_OF_STREAM = _NEXT_DUE.where(t.steps.c.stream == bindparam("name"))
_NEXT_DUE_OF_LANE = _NEXT_DUE.where(t.steps.c.lane == bindparam("name"))
_RESULT = select(t.results.c.content).where(t.results.c.call == bindparam("name"))
_WORKERS = select(t.workers).order_by(t.workers.c.id)
_DROP_WORKER = delete(t.workers).where(t.workers.c.id == bindparam("name"))
_ADD_WORKER = insert(t.workers)
_BEAT = update(t.workers).where(t.workers.c.id == bindparam("worker")).values(beats=t.workers.c.beats + 1)


class SqlEventLog:
    """An `EventLog` in a database that speaks SQL. `hermes_jobs.eventlog.opening` makes one."""

    def __init__(self, database: Database, log_id: str, codec: Codec) -> None:
        self._database = database
        self._log_id = log_id
        self._codec = codec
        self._queue = WriteQueue(database)
        self._appended = 0
        self._news = threading.Condition()

    @property
    def log_id(self) -> str:
        return self._log_id

    @property
    def codec(self) -> Codec:
        """How this build reads and writes events."""
        return self._codec

    def append(self, change: Append) -> tuple[Recorded, ...]:
        prepared = PreparedAppend(change, self._codec)
        recorded = self._queue.run(prepared, durable=change.durable, size=prepared.size)
        if recorded:
            self._tell()
        return recorded

    def head(self, stream: str) -> Head | None:
        row = self._first(HEAD, name=stream)
        return None if row is None else to_head(row)

    def read(self, stream: str, after: int = 0, upto: int | None = None) -> Sequence[Recorded]:
        with self._reading() as connection:
            row = connection.execute(HEAD, {"name": stream}).first()
            if row is None:
                return ()
            head = to_head(row)
            if head.reader > self._codec.reads_up_to:
                raise NewerSchema(needs_newer(head))
            values = {"name": stream, "after": after, "upto": head.version if upto is None else upto}
            return [to_recorded(each, self._codec) for each in connection.execute(_READ, values)]

    def tail(self, after: int = 0, limit: int = 1000, *, stream: str | None = None) -> Sequence[Recorded]:
        events: list[Recorded] = []
        for row in self._all(*_of(stream, _TAIL, _TAIL_OF_STREAM), after=after, most=limit):
            try:
                events.append(to_recorded(row, self._codec))
            except NewerSchema:
                if not events:
                    raise
                break
        return events

    def last_position(self) -> int:
        position: int = self._scalar(LAST_POSITION)
        return position

    def wait(self, after: int, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while True:
            appended, pulse = self._appended, self._pulse()
            if self.last_position() > after:
                return True
            while self._appended == appended and self._pulse() == pulse:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._listen(appended, min(left, self._database.poll_seconds))

    def streams(self, prefix: str = "") -> Sequence[Head]:
        return [to_head(row) for row in self._all(_STREAMS, first=prefix, beyond=prefix + _LAST_CHARACTER)]

    def step(self, step_id: str) -> StepRow | None:
        row = self._first(_STEP, name=step_id)
        return None if row is None else to_step_row(row)

    def steps(self, stream: str | None = None) -> Sequence[StepRow]:
        return [to_step_row(row) for row in self._all(*_of(stream, _STEPS, _STEPS_OF_STREAM))]

    def claimed_by_others(self, worker: str) -> Sequence[StepRow]:
        return [to_step_row(row) for row in self._all(_STEPS_OF_OTHERS, worker=worker)]

    def due(
        self, now: float, *, stream: str | None = None, lane: Lane | None = None, limit: int = 1000
    ) -> Sequence[StepRow]:
        level = self._codec.reads_up_to
        chosen = _of(lane, _DUE, _DUE_OF_LANE) if stream is None else (_DUE_OF_STREAM, {"name": stream})
        rows = self._all(*chosen, now=now, most=limit, level=level)
        return [to_step_row(row) for row in rows]

    def next_due_at(self, *, stream: str | None = None, lane: Lane | None = None) -> float | None:
        of_stream = (_NEXT_DUE_OF_STREAM, {"name": stream})
        chosen = _of(lane, _NEXT_DUE, _NEXT_DUE_OF_LANE) if stream is None else of_stream
        moment: float | None = self._scalar(*chosen, level=self._codec.reads_up_to)
        return moment

    def key(self, scope: str, key: str) -> KeyRow | None:
        row = self._first(KEY, scope=scope, name=key)
        return None if row is None else to_key_row(row)

    def account(self, account: str) -> Charge:
        return to_charge(account, self._first(ACCOUNT, account=account))

    def result(self, call: str) -> str | None:
        content: str | None = self._scalar(_RESULT, name=call)
        return content

    def register(self, worker: WorkerRow) -> None:
        values = {name: getattr(worker, name) for name in worker.__struct_fields__}

        def enter(connection: Connection) -> None:
            connection.execute(_DROP_WORKER, {"name": worker.id})
            connection.execute(_ADD_WORKER, values)

        self._queue.run(enter, durable=False)

    def beat(self, worker: str) -> bool:
        return self._queue.run(
            lambda connection: connection.execute(_BEAT, {"worker": worker}).rowcount == 1, durable=False
        )

    def unregister(self, worker: str) -> None:
        self._queue.run(lambda connection: connection.execute(_DROP_WORKER, {"name": worker}), durable=False)

    def workers(self) -> Sequence[WorkerRow]:
        return [to_worker_row(row) for row in self._all(_WORKERS)]

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection for looking at the tables themselves, all at one moment."""
        with self._translated(), self._database.snapshot() as connection:
            yield connection

    def change_tables(self, act: Callable[[Connection], T]) -> T:
        """Carry out the act on the tables themselves, in one transaction: nothing of it where it raises.

        Everybody else who writes waits meanwhile.
        """
        result = self._queue.run(act, durable=True)
        self._tell()
        return result

    def _tell(self) -> None:
        with self._news:
            self._appended += 1
            self._news.notify_all()

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

    def _all(self, statement: Executable, named: Values = NOTHING, /, **values: Any) -> Sequence[AnyRow]:
        with self._reading() as connection:
            return connection.execute(statement, {**named, **values}).all()

    def _first(self, statement: Executable, /, **values: Any) -> AnyRow | None:
        rows = self._all(statement, **values)
        return rows[0] if rows else None

    def _scalar(self, statement: Executable, named: Values = NOTHING, /, **values: Any) -> Any:
        rows = self._all(statement, named, **values)
        return rows[0][0] if rows else None

    def _pulse(self) -> int:
        with self._translated():
            return self._database.pulse()

    def _listen(self, appended: int, seconds: float) -> None:
        with self._news:
            if self._appended == appended:
                self._news.wait(seconds)


def _of(name: str | None, everywhere: Executable, of_one: Executable) -> tuple[Executable, Values]:
    """The statement for all streams (or lanes) or the one for a single one, with that one's name."""
    return (everywhere, NOTHING) if name is None else (of_one, {"name": name})
