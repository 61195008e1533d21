"""Rows of the tables as the values that cross the port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row

from hermes_jobs.domain.events import Event
from hermes_jobs.domain.steps import Step
from hermes_jobs.eventlog.codec import Codec, chained, escaped, to_meta
from hermes_jobs.eventlog.log import Head, KeyRow, Meta, Recorded, StepRow, WorkerRow

AnyRow = Row[Any]

_HASHED = ("version", "type", "schema", "recorded_at", "meta", "data")


def to_head(row: AnyRow) -> Head:
    return Head(stream=row.stream, version=row.version, hash=row.hash, segment=row.segment, reader=row.reader)


def to_recorded(row: AnyRow, codec: Codec) -> Recorded:
    """Raises `NewerSchema` or `Corrupt` where this build cannot read the event."""
    return Recorded(
        position=row.position,
        stream=row.stream,
        version=row.version,
        type=row.type,
        event=codec.decode(row.type, row.data, row.schema),
        meta=to_meta(row.meta),
        schema=row.schema,
        recorded_at=row.recorded_at,
        hash=row.hash,
    )


def to_recorded_event(row: Mapping[str, Any], event: Event, meta: Meta) -> Recorded:
    """A row as it was just written, with the values that its texts were made from."""
    return Recorded(
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


def row_hash(previous: str, row: Mapping[str, Any]) -> str:
    """The hash of an event's row; `previous` is that of its predecessor in the stream ("" for the first)."""
    return chained(previous, escaped(row["stream"]), *(str(row[name]) for name in _HASHED))


def to_step_row(row: AnyRow) -> StepRow:
    step = Step(id=row.id, stream=row.stream, kind=row.kind, attempt=row.attempt, not_before=row.not_before)
    return StepRow(step=step, owner=row.owner, fence=row.fence)


def to_key_row(row: AnyRow) -> KeyRow:
    return KeyRow(scope=row.scope, key=row.key, stream=row.stream, position=row.position, digest=row.digest)


def to_worker_row(row: AnyRow) -> WorkerRow:
    return WorkerRow(
        id=row.id,
        name=row.name,
        locks=row.locks,
        lanes=tuple(row.lanes),
        beats=row.beats,
        reader=row.reader,
    )
