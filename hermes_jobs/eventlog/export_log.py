"""A log, or some of its streams, as portable lines, all at one moment while others go on writing."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from hashlib import sha256
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, Select, select

from hermes_jobs.domain.events import ToolFinished
from hermes_jobs.errors import Corrupt
from hermes_jobs.eventlog import schema as t
from hermes_jobs.eventlog.append import still_importing
from hermes_jobs.eventlog.log import IMPORTING
from hermes_jobs.eventlog.portable import (
    FORMAT,
    AnyLine,
    EventLine,
    ExportEnd,
    ExportHeader,
    KeyLine,
    ResultLine,
    StepLine,
    to_bytes,
)
from hermes_jobs.eventlog.rows import row_hash
from hermes_jobs.eventlog.sql import SqlEventLog

_EVENTS_AT_ONCE = 1000
_RESULTS_AT_ONCE = 10  # each may be some megabytes


def export_log(
    log: SqlEventLog, *, version: str, made_at: str, streams: Collection[str] | None = None
) -> Iterator[bytes]:
    """The lines of everything, or of those streams alone, each with its line break.

    `version` is that of this hermes-jobs, `made_at` ISO 8601 in UTC. Keeps one line and the ends of streams
    in memory. Raises `Corrupt` where an event is lost or not what was written, and `LogUnavailable`.
    """
    digest, num_events = sha256(), 0
    with log.snapshot() as connection:
        header = ExportHeader(
            format=FORMAT,
            version=version,
            log=log.log_id,
            made_at=made_at,
            scope="home" if streams is None else "sessions",
        )
        for line in _lines(connection, header, streams):
            raw = to_bytes(line)
            digest.update(raw)
            num_events += isinstance(line, EventLine)
            yield raw
    yield to_bytes(ExportEnd(events=num_events, sha256=digest.hexdigest()))


def _lines(
    connection: Connection, header: ExportHeader, streams: Collection[str] | None
) -> Iterator[AnyLine]:
    coming = connection.execute(select(t.streams.c.stream).where(t.streams.c.reader == IMPORTING)).scalars()
    for stream in coming:
        if streams is None or stream in streams:
            raise still_importing(stream)
    _check_ends(connection, streams)
    yield header
    yield from lines_of_tables(connection, streams)


def _check_ends(connection: Connection, streams: Collection[str] | None) -> None:
    """Raises `Corrupt` where a stream ends before its head says: no event behind it would show that."""
    heads, events = t.streams.c, t.events.c
    last = (events.stream == heads.stream) & (events.version == heads.version)
    lost = select(heads.stream, heads.version).where(~select(t.events).where(last).exists())
    for row in _rows(connection, _of(lost, heads.stream, streams).limit(1)):
        raise Corrupt(
            f"{row.stream} has lost its last events, up to version {row.version}. "
            "Run `hermes-jobs events verify`."
        )


def lines_of_tables(connection: Connection, streams: Collection[str] | None = None) -> Iterator[AnyLine]:
    """What stands between header and end. Raises `Corrupt` where an event is not what was written."""
    calls: list[str] = []
    for line in _events(connection, streams):
        if streams is not None and line.type == ToolFinished.__name__:
            calls.append(msgspec.json.decode(line.data, type=ToolFinished).call)
        yield line
    yield from _keys(connection, streams)
    yield from _results(connection, None if streams is None else calls)
    yield from _steps(connection, streams)


def _rows(
    connection: Connection, statement: Select[Any], at_once: int = _EVENTS_AT_ONCE
) -> Iterator[Row[Any]]:
    return iter(connection.execute(statement, execution_options={"yield_per": at_once}))


def _of(statement: Select[Any], column: Any, streams: Collection[str] | None) -> Select[Any]:
    return statement if streams is None else statement.where(column.in_(sorted(streams)))


def _events(connection: Connection, streams: Collection[str] | None) -> Iterator[EventLine]:
    ends: dict[str, tuple[int, str]] = {}
    ordered = _of(select(t.events), t.events.c.stream, streams).order_by(t.events.c.position)
    for row in _rows(connection, ordered):
        version, previous = ends.get(row.stream, (0, ""))
        if row.version != version + 1 or row.hash != row_hash(previous, row._asdict()):
            raise Corrupt(
                f"{row.stream} is not what was written, at its version {row.version} (position "
                f"{row.position}): nobody could bring it in again. Run `hermes-jobs events verify`."
            )
        ends[row.stream] = (row.version, row.hash)
        yield EventLine(
            position=row.position,
            stream=row.stream,
            version=row.version,
            type=row.type,
            schema=row.schema,
            recorded_at=row.recorded_at,
            meta=msgspec.Raw(row.meta),
            data=msgspec.Raw(row.data),
            hash=row.hash,
        )


def _keys(connection: Connection, streams: Collection[str] | None) -> Iterator[KeyLine]:
    at_events = t.keys.join(t.events, t.events.c.position == t.keys.c.position)
    keys = select(t.keys, t.events.c.version.label("version")).select_from(at_events)
    ordered = _of(keys, t.keys.c.stream, streams).order_by(t.keys.c.scope, t.keys.c.key)
    for row in _rows(connection, ordered):
        yield KeyLine(scope=row.scope, key=row.key, stream=row.stream, version=row.version, digest=row.digest)


def _results(connection: Connection, calls: Collection[str] | None) -> Iterator[ResultLine]:
    if calls is None:
        every = select(t.results).order_by(t.results.c.call)
        for row in _rows(connection, every, _RESULTS_AT_ONCE):
            yield ResultLine(call=row.call, content=row.content)
        return
    for call in calls:
        for row in connection.execute(select(t.results).where(t.results.c.call == call)):
            yield ResultLine(call=row.call, content=row.content)


def _steps(connection: Connection, streams: Collection[str] | None) -> Iterator[StepLine]:
    ordered = _of(select(t.steps), t.steps.c.stream, streams).order_by(t.steps.c.sequence)
    for row in _rows(connection, ordered):
        yield StepLine(step=row.id, stream=row.stream, owner=row.owner, fence=row.fence)
