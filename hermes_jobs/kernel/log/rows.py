"""Rows of the tables, in the order of the columns in `statements`, as the values that cross the port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.events.recorded import EventMeta, RecordedEvent
from hermes_jobs.kernel.log.codec import Codec, chain_hash, escaped, to_meta, unescaped
from hermes_jobs.kernel.log.log import Head, KeyRow, StepRow, WorkerRow
from hermes_jobs.kernel.turns.steps import Step

if TYPE_CHECKING:
    from hermes_jobs.kernel.log.portable import EventLine

AnyRow = tuple[Any, ...]

_HASHED = ("version", "type", "schema", "recorded_at", "meta", "data")


def to_head(row: AnyRow) -> Head:
    """The head of a stream, of the columns that `SELECT_HEAD` names."""
    stream, version, digest, reader = row
    return Head(stream=unescaped(stream), version=version, hash=digest, min_build_level=reader)


def to_recorded(row: AnyRow, codec: Codec) -> RecordedEvent:
    """Raises `NewerSchema` or `Corrupt` where this build cannot read the event."""
    position, name, version, kind, data, meta, schema, recorded_at, digest = row
    stream = unescaped(name)
    return RecordedEvent(
        position=position,
        stream=stream,
        version=version,
        type=kind,
        event=codec.decode(kind, data, schema, stream),
        meta=to_meta(meta),
        schema=schema,
        recorded_at=recorded_at,
        hash=digest,
    )


def to_recorded_event(row: Mapping[str, Any], event: Event, meta: EventMeta) -> RecordedEvent:
    """A row as it was just written, with the values that its texts were made from."""
    return RecordedEvent(
        position=row["position"],
        stream=row["stream"],
        version=row["version"],
        type=row["type"],
        event=event,
        meta=meta,
        schema=row["schema"],
        recorded_at=row["recorded_at"],
        hash=row["hash"],
    )


class StoredEvent(NamedTuple):
    """An event's row with its texts as they are stored; `stream` is the name itself."""

    position: int
    stream: str
    version: int
    type: str
    data: str
    meta: str
    schema: int
    recorded_at: str
    hash: str


def to_stored_event(row: AnyRow) -> StoredEvent:
    """A row of the columns `EVENT`, undecoded."""
    return StoredEvent._make(row)._replace(stream=unescaped(row[1]))


def event_row(line: EventLine, position: int) -> dict[str, Any]:
    """The row of an imported event."""
    return {
        "position": position,
        "stream": escaped(line.stream),
        "version": line.version,
        "type": line.type,
        "data": bytes(line.data).decode(),
        "meta": bytes(line.meta).decode(),
        "schema": line.schema,
        "recorded_at": line.recorded_at,
        "hash": line.hash,
    }


def row_hash(previous: str, row: Mapping[str, Any]) -> str:
    """The hash of an event's row; `previous` is that of its predecessor in the stream ("" for the first)."""
    return chain_hash(previous, escaped(row["stream"]), *(str(row[name]) for name in _HASHED))


def to_step_row(row: AnyRow) -> StepRow:
    """A due step with its claim."""
    name, stream, kind, _, attempt, not_before, owner, fence = row
    step = Step(
        id=unescaped(name), stream=unescaped(stream), kind=kind, attempt=attempt, not_before=not_before
    )
    return StepRow(step=step, owner=None if owner is None else unescaped(owner), fence=fence)


def to_key_row(row: AnyRow) -> KeyRow:
    """A unique key and the event that it belongs to."""
    scope, key, stream, position, digest = row
    return KeyRow(
        scope=unescaped(scope),
        key=unescaped(key),
        stream=unescaped(stream),
        position=position,
        digest=unescaped(digest),
    )


def to_worker_row(row: AnyRow) -> WorkerRow:
    """A worker's registration with its heartbeats."""
    name, shown, locks, lanes, beats, reader = row
    return WorkerRow(
        id=unescaped(name),
        name=unescaped(shown),
        locks=unescaped(locks),
        queues=tuple(msgspec.json.decode(lanes)),
        beats=beats,
        build_level=reader,
    )
