"""Copies a checked log into one that is in use: events in batches, then everything else in one transaction.

Other writers can write between two batches. A partly copied stream is at level `IMPORTING`: it cannot be
read, written or worked on. The last transaction makes all streams visible, with their due steps. If the
process dies before, the copied part stays, and the same copy continues from there.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.log import statements as sql
from hermes_jobs.kernel.log.append import head_values, key_values, result_values, step_values
from hermes_jobs.kernel.log.budget_rows import charge, to_charge
from hermes_jobs.kernel.log.codec import Codec, escaped, unescaped
from hermes_jobs.kernel.log.database import Connection
from hermes_jobs.kernel.log.export_log import lines_of_tables
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.log import IMPORTING, Head
from hermes_jobs.kernel.log.portable import AnyLine, EventLine, KeyLine, ResultLine, Tombstones
from hermes_jobs.kernel.log.rows import event_row, to_head
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.transaction import TransactionLog
from hermes_jobs.kernel.streams.decision import UniqueKey
from hermes_jobs.system.file_lock import FileLock

T = TypeVar("T")

BATCH_LINES = 250
BATCH_CHARACTERS = 1_000_000
_TEMP_NAME = "import"


@contextmanager
def temp_log(folder: Path, codec: Codec) -> Iterator[SqlEventLog]:
    """An empty log in that folder, removed afterwards; a second process waits for it.

    Raises `LogUnavailable`.
    """
    lock, place = FileLock(folder / f"{_TEMP_NAME}.lock"), folder / _TEMP_NAME
    try:
        with lock.hold():
            shutil.rmtree(place, ignore_errors=True)  # left by one that was killed
            place.mkdir(mode=0o700)
            log = open_log(sqlite_url(place / "events.db"), codec=codec)
            try:
                yield log
            finally:
                log.close()
                shutil.rmtree(place, ignore_errors=True)
    finally:
        lock.close()


def copy_log(source: SqlEventLog, target: SqlEventLog, then: Callable[[TransactionLog], T]) -> T:
    """Copy all of `source` into `target`; returns what `then` returns, which runs before streams are visible.

    Raises `Rejected` where one of its streams was created meanwhile, and what `then` raises.
    """
    with target.snapshot() as here:
        tombstones = Tombstones.stored(here)
    with source.snapshot() as tables:
        for batch in _batches(lines_of_tables(tables, known_tombstones=tombstones)):
            target.change_tables(partial(_write, batch))
        accounts = [
            to_charge(unescaped(account), sums)
            for account, *sums in tables.execute(sql.SELECT_ACCOUNTS).fetchall()
        ]
    heads, steps = source.streams(), source.steps()

    def make_visible(connection: Connection) -> T:
        for head in heads:
            here = _head(connection, head.stream)
            if here.min_build_level != IMPORTING or here.hash != head.hash:
                raise _already_exists(head.stream)
        connection.executemany(sql.UPDATE_HEAD, [head_values(head) for head in heads])
        for row in steps:  # in the order in which they came
            claim = {"owner": None if row.owner is None else escaped(row.owner), "fence": row.fence}
            connection.execute(sql.INSERT_STEP, {**step_values(row.step), **claim})
        charge(connection, accounts, ())
        return then(TransactionLog(connection, target.log_id, target.codec))

    return target.change_tables(make_visible)


def _batches(lines: Iterable[AnyLine]) -> Iterator[Sequence[AnyLine]]:
    batch: list[AnyLine] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += _size(line)
        if len(batch) >= BATCH_LINES or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    yield batch


def _size(line: AnyLine) -> int:
    if isinstance(line, EventLine):
        return len(bytes(line.data))
    return len(line.content) if isinstance(line, ResultLine) else 0


def _write(lines: Sequence[AnyLine], connection: Connection) -> None:
    """Write those lines that are not here yet. Steps and accounts are written at the end."""
    events = [line for line in lines if isinstance(line, EventLine)]
    if events:
        _write_events(events, connection)
    for line in lines:
        if isinstance(line, KeyLine):
            _write_key(line, connection)
        elif isinstance(line, ResultLine):
            row = connection.execute(sql.SELECT_RESULT, {"name": escaped(line.call)}).fetchone()
            if row is None:
                connection.execute(sql.UPSERT_RESULT, result_values(line.call, line.content))


def _write_events(lines: Sequence[EventLine], connection: Connection) -> None:
    (position,) = connection.execute(sql.SELECT_LAST_POSITION).fetchone()
    begins = {name: _head(connection, name) for name in dict.fromkeys(line.stream for line in lines)}
    ends, rows = dict(begins), list[dict[str, Any]]()
    for line in lines:
        head = ends[line.stream]
        if head.min_build_level != IMPORTING:
            raise _already_exists(line.stream)
        if line.version <= head.version:
            continue
        rows.append(event_row(line, position + len(rows) + 1))
        ends[line.stream] = replace(head, version=line.version, hash=line.hash)
    new = [name for name, head in begins.items() if head.version == 0]
    connection.executemany(sql.INSERT_EVENT, rows)
    connection.executemany(sql.INSERT_HEAD, [head_values(ends[name]) for name in new])
    connection.executemany(sql.UPDATE_HEAD, [head_values(ends[name]) for name in begins if name not in new])


def _write_key(line: KeyLine, connection: Connection) -> None:
    """Where the key was used here for something else, the first use counts."""
    names = {"scope": escaped(line.scope), "name": escaped(line.key)}
    if connection.execute(sql.SELECT_KEY, names).fetchone() is not None:
        return
    at = {"name": escaped(line.stream), "version": line.version}
    (position,) = connection.execute(sql.SELECT_POSITION, at).fetchone()
    key = UniqueKey(scope=line.scope, key=line.key, digest=line.digest)
    connection.execute(sql.INSERT_KEY, key_values(key, line.stream, position))


def _head(connection: Connection, stream: str) -> Head:
    """How far the stream has been copied; version 0 for a new one."""
    row = connection.execute(sql.SELECT_HEAD, {"name": escaped(stream)}).fetchone()
    nothing = Head(stream=stream, version=0, hash="", min_build_level=IMPORTING)
    return nothing if row is None else to_head(row)


def _already_exists(stream: str) -> Rejected:
    return Rejected(
        f"{stream} has come into being here meanwhile.",
        kind="other_content",
        hint="Run the same import again: it looks at what is here, and continues.",
    )
