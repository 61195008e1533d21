"""A log, or some of its streams, as portable lines, all at one moment while others continue writing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from hashlib import sha256

import msgspec

from hermes_jobs.errors import Corrupt
from hermes_jobs.kernel.events import ToolFinished
from hermes_jobs.kernel.log import statements as sql
from hermes_jobs.kernel.log.append import still_importing
from hermes_jobs.kernel.log.blobs import BlobStore, named_everywhere, named_in
from hermes_jobs.kernel.log.codec import escaped, unescaped
from hermes_jobs.kernel.log.database import Connection, Values
from hermes_jobs.kernel.log.log import IMPORTING, OPAQUE, KeyRow
from hermes_jobs.kernel.log.portable import (
    FORMAT,
    AnyLine,
    BlobLine,
    EventLine,
    ExportEnd,
    ExportHeader,
    KeyLine,
    ResultLine,
    StepLine,
    Tombstones,
    to_bytes,
)
from hermes_jobs.kernel.log.rows import AnyRow, row_hash, to_head, to_key_row, to_step_row, to_stored_event
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.system.struct_types import described

PAGE_ROWS = 1000
_RESULTS_AT_ONCE = 10  # each may be some megabytes


def export_log(
    log: SqlEventLog,
    *,
    version: str,
    made_at: str,
    streams: Collection[str] | None = None,
    blobs: BlobStore | None = None,
) -> Iterator[bytes]:
    """The lines of everything, or of those streams alone, each with its line break.

    What events name in `blobs` goes along. `version` is that of this hermes-jobs, `made_at` ISO 8601 in UTC.
    Keeps one line and the ends of streams in memory. Raises `Corrupt` where an event is lost or was changed,
    and `LogUnavailable`.
    """
    digest, num_events = sha256(), 0
    with log.snapshot() as connection:
        header = ExportHeader(
            format=FORMAT if blobs is not None and named_everywhere(connection) else 1,
            version=version,
            log=log.log_id,
            made_at=made_at,
            scope="home" if streams is None else "sessions",
            opaque=tuple(
                stream for stream in _at(connection, OPAQUE) if streams is None or stream in streams
            ),
        )
        for line in _lines(connection, header, streams, blobs):
            raw = to_bytes(line)
            digest.update(raw)
            num_events += isinstance(line, EventLine)
            yield raw
    yield to_bytes(ExportEnd(events=num_events, sha256=digest.hexdigest()))


def _lines(
    connection: Connection, header: ExportHeader, streams: Collection[str] | None, blobs: BlobStore | None
) -> Iterator[AnyLine]:
    for stream in _at(connection, IMPORTING):
        if streams is None or stream in streams:
            raise still_importing(stream)
    _check_ends(connection, streams)
    yield header
    named: dict[str, None] = {}
    for line in lines_of_tables(connection, streams):
        if isinstance(line, EventLine):
            named |= dict.fromkeys(named_in(bytes(line.data).decode()))
        yield line
    for digest in named if blobs is not None else ():
        if blobs is not None and (content := blobs.get(digest)) is not None:
            yield BlobLine(content=content)


def _at(connection: Connection, level: int) -> Iterator[str]:
    """The streams at that level."""
    rows = connection.execute(sql.SELECT_HEADS_AT, {"level": level}).fetchall()
    return (to_head(row).stream for row in rows)


def _check_ends(connection: Connection, streams: Collection[str] | None) -> None:
    """Raises `Corrupt` if a stream has fewer events than its head says, which no later event would reveal."""
    condition, names = _among("streams.stream", streams)
    row = connection.execute(sql.SELECT_LOST_END.format(condition), names).fetchone()
    if row is not None:
        raise Corrupt(
            f"{unescaped(row[0])} has lost its last events, up to version {row[1]}. "
            "Run `hermes-jobs log events verify`."
        )


def lines_of_tables(
    connection: Connection,
    streams: Collection[str] | None = None,
    *,
    known_tombstones: Tombstones | None = None,
) -> Iterator[AnyLine]:
    """The lines between header and end, with the events that record removed texts.

    `known_tombstones` gets those, too. Raises `Corrupt` where an event was changed.
    """
    calls: list[str] = []
    tombstones = Tombstones.stored(connection, known_tombstones)
    if streams is not None:
        streams = frozenset(streams) | tombstones.streams_about(frozenset(streams))
    for line in _events(connection, streams, tombstones):
        if streams is not None and line.type == ToolFinished.__name__:
            calls.append(msgspec.json.decode(line.data, type=described(ToolFinished)).call)
        yield line
    yield from _keys(connection, streams)
    yield from _results(connection, None if streams is None else calls)
    yield from _steps(connection, streams)


def pages(
    connection: Connection,
    statement: str,
    first: Values,
    key_of: Callable[[AnyRow], Values],
    rows_at_once: int = PAGE_ROWS,
) -> Iterator[AnyRow]:
    """The rows of a statement that ends in `PAGE`, of which one page at a time is in memory.

    `first` are its parameters before the first row, `key_of` those that follow on a row.
    """
    after = first
    while rows := connection.execute(statement, {**first, **after, "most": rows_at_once}).fetchall():
        yield from rows
        after = key_of(rows[-1])


def _among(column: str, streams: Collection[str] | None) -> tuple[str, dict[str, str]]:
    """A further condition, that the column names one of these streams, and its parameters."""
    if streams is None:
        return "", {}
    names = {f"stream_{at}": escaped(stream) for at, stream in enumerate(sorted(streams))}
    return f" AND {column} IN ({', '.join(f':{name}' for name in names) or 'NULL'})", names


def _events(
    connection: Connection, streams: Collection[str] | None, tombstones: Tombstones
) -> Iterator[EventLine]:
    ends: dict[str, tuple[int, str]] = {}
    condition, names = _among("stream", streams)
    statement = sql.EVENTS_PAGE.format(condition)
    for row in map(
        to_stored_event,
        pages(connection, statement, {"position": 0, **names}, lambda row: {"position": row[0]}),
    ):
        version, previous = ends.get(row.stream, (0, ""))
        computed_hash = row_hash(previous, row._asdict())
        is_written = computed_hash == row.hash or tombstones.covers(row.stream, row.version, computed_hash)
        if row.version != version + 1 or not is_written:
            raise Corrupt(
                f"{row.stream} is not what was written, at its version {row.version} (position "
                f"{row.position}): it could not be imported again. Run `hermes-jobs log events verify`."
            )
        ends[row.stream] = (row.version, row.hash)
        texts = {"meta": msgspec.Raw(row.meta), "data": msgspec.Raw(row.data)}
        yield EventLine(**{**row._asdict(), **texts})


def _keys(connection: Connection, streams: Collection[str] | None) -> Iterator[KeyLine]:
    for key, _, version in all_keys(connection, streams):
        if version is not None:
            yield KeyLine(scope=key.scope, key=key.key, stream=key.stream, version=version, digest=key.digest)


def all_keys(
    connection: Connection, streams: Collection[str] | None = None
) -> Iterator[tuple[KeyRow, str | None, int | None]]:
    """Each key (of these streams), with stream and version of the event at its position, if there is one."""
    condition, names = _among("keys.stream", streams)
    first = {"scope": "", "key": "", **names}
    statement = sql.KEYS_PAGE.format(condition)
    for *row, stream, version in pages(
        connection, statement, first, lambda row: {"scope": row[0], "key": row[1]}
    ):
        yield to_key_row(tuple(row)), None if stream is None else unescaped(stream), version


def _results(connection: Connection, calls: Collection[str] | None) -> Iterator[ResultLine]:
    if calls is None:
        rows = pages(
            connection, sql.RESULTS_PAGE, {"call": ""}, lambda row: {"call": row[0]}, _RESULTS_AT_ONCE
        )
        yield from (_result(unescaped(call), content) for call, content in rows)
        return
    for call in calls:
        row = connection.execute(sql.SELECT_RESULT, {"name": escaped(call)}).fetchone()
        if row is not None:
            yield _result(call, row[0])


def _result(call: str, stored: str) -> ResultLine:
    return ResultLine(call=call, content=msgspec.json.decode(stored, type=str))


def _steps(connection: Connection, streams: Collection[str] | None) -> Iterator[StepLine]:
    for row in map(to_step_row, connection.execute(sql.SELECT_EVERY_STEP).fetchall()):
        if streams is None or row.step.stream in streams:
            yield StepLine(step=row.step.id, stream=row.step.stream, owner=row.owner, fence=row.fence)
