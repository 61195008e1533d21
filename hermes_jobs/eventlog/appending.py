"""One append inside a write transaction: every condition is checked before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace
from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    null,
    select,
    update,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement

from hermes_jobs.domain.changes import Key
from hermes_jobs.domain.errors import Conflict, KeyTaken, NewerSchema, StepLost
from hermes_jobs.domain.steps import Step
from hermes_jobs.eventlog import schema as t
from hermes_jobs.eventlog.charging import charge
from hermes_jobs.eventlog.codec import Codec, EncodedEvent, to_json
from hermes_jobs.eventlog.log import Append, Guard, Head, LargeResult, Recorded, StreamWrite
from hermes_jobs.eventlog.rows import row_hash, to_key_row, to_recorded_event
from hermes_jobs.eventlog.statement import Statement, dialect_insert

HEAD = select(t.streams).where(t.streams.c.stream == bindparam("name"))
LAST_POSITION = select(func.coalesce(func.max(t.events.c.position), literal_column("0")))
KEY = select(t.keys).where(t.keys.c.scope == bindparam("scope"), t.keys.c.key == bindparam("name"))

_STATE_OF_HEAD = ("version", "hash", "segment", "reader")


def _upsert(dialect: Dialect, table: Table, key: str) -> ClauseElement:
    """Insert a row, or replace all of the one with that key but its number."""
    start = dialect_insert(dialect)
    others = [column.name for column in table.columns if column.name not in {"sequence", key}]
    upsert = start(table).values({name: bindparam(name) for name in (key, *others)})
    changes = {name: upsert.excluded[name] for name in others}
    replacing: ClauseElement = upsert.on_conflict_do_update(index_elements=[key], set_=changes)
    return replacing


_one = select(literal_column("1")).subquery("one")
_select_end = Statement(
    lambda _: select(
        *(t.streams.c[name] for name in _STATE_OF_HEAD), LAST_POSITION.scalar_subquery()
    ).select_from(_one.outerjoin(t.streams, _named(t.streams.c.stream)))
)
_insert_event = Statement(lambda _: insert(t.events))
_insert_head = Statement(lambda _: insert(t.streams))
_update_head = Statement(
    lambda _: (
        update(t.streams)
        .where(_named(t.streams.c.stream))
        .values({name: bindparam(name) for name in _STATE_OF_HEAD})
    )
)
_delete_step = Statement(lambda _: delete(t.steps).where(_named(t.steps.c.id)))
_upsert_step = Statement(lambda dialect: _upsert(dialect, t.steps, "id"))
_claim_step = Statement(
    lambda _: (
        update(t.steps)
        .where(_named(t.steps.c.id), t.steps.c.owner.is_(None))
        .values(owner=bindparam("holder"), fence=bindparam("number"))
    )
)
_finish_step = Statement(
    lambda _: (
        update(t.steps)
        .where(
            _named(t.steps.c.id),
            t.steps.c.owner == bindparam("holder"),
            t.steps.c.fence == bindparam("number"),
        )
        .values(owner=null())
    )
)
_insert_key = Statement(lambda _: insert(t.keys))
_upsert_result = Statement(lambda dialect: _upsert(dialect, t.results, "call"))


def _named(column: ColumnElement[str]) -> ColumnElement[bool]:
    return column == bindparam("name")


class PreparedAppend:
    """An append with its events encoded, before any lock is taken; called with a connection, it happens."""

    def __init__(self, change: Append, codec: Codec) -> None:
        """Raises `Corrupt` where an event's type is not declared, `ValueError` for keys that cannot be."""
        self._change = change
        self._level = codec.reads_up_to
        self._meta = to_json(change.meta)
        self._encoded = [[codec.encode(event) for event in write.events] for write in change.writes]
        if change.keys and not any(self._encoded):
            raise ValueError("a key points at an event, and this append carries none")
        if len({(key.scope, key.key) for key in change.keys}) < len(change.keys):
            raise ValueError("a key stands twice in this append")

    @property
    def size(self) -> int:
        """About how many characters it writes."""
        contents = sum(len(result.content) for result in self._change.results)
        return contents + sum(len(event.data) for events in self._encoded for event in events)

    def __call__(self, connection: Connection) -> tuple[Recorded, ...]:
        """Raises `Conflict`, `KeyTaken`, `StepLost`, `OverBudget` or `NewerSchema`, with no event written."""
        change = self._change
        heads, position = self._checked_ends(connection)
        _check_keys(connection, change.keys)
        if change.guard is not None:
            _pass_guard(connection, change.guard)
        if change.charges:
            charge(connection, change.charges, change.limits)
        recorded = self._write_events(connection, heads, position)
        for write in change.writes:
            _write_steps(connection, write)
        if change.keys:
            _write_keys(connection, change.keys, recorded[0])
        _write_results(connection, change.results)
        return recorded

    def _checked_ends(self, connection: Connection) -> tuple[dict[str, Head], int]:
        """The head of each stream before the append, and the newest position of all."""
        heads: dict[str, Head] = {}
        versions: dict[str, int] = {}
        position = 0
        for write in self._change.writes:
            name = write.stream
            if name not in heads:
                [(*state, position)] = _select_end.run(connection, {"name": name}).fetchall()
                heads[name] = head = _head(name, *state)
                versions[name] = head.version
                if head.reader > self._level:
                    raise NewerSchema(needs_newer(head))
            if write.expected not in {None, versions[name]}:
                raise Conflict(f"{name} is at version {versions[name]}, not {write.expected}: load it again.")
            versions[name] += len(write.events)
        return heads, position

    def _write_events(
        self, connection: Connection, heads: dict[str, Head], position: int
    ) -> tuple[Recorded, ...]:
        """Write each event behind the one before it, and the heads that follow."""
        recorded: list[Recorded] = []
        rows: list[dict[str, Any]] = []
        ends = dict(heads)
        for write, encoded in zip(self._change.writes, self._encoded, strict=True):
            for each in encoded:
                rows.append(self._row(each, ends[write.stream], position + len(rows) + 1))
                ends[write.stream] = _advanced(ends[write.stream], rows[-1], each.reader)
                recorded.append(to_recorded_event(rows[-1], each.event, self._change.meta))
            if encoded and write.segment is not None:
                ends[write.stream] = replace(ends[write.stream], segment=write.segment)
        _insert_event.run_each(connection, rows)
        for name, end in ends.items():
            if end.version > heads[name].version:
                _write_head(connection, end, is_new=heads[name].version == 0)
        return tuple(recorded)

    def _row(self, encoded: EncodedEvent, head: Head, position: int) -> dict[str, Any]:
        row = {
            "position": position,
            "stream": head.stream,
            "version": head.version + 1,
            "type": encoded.type,
            "data": encoded.data,
            "meta": self._meta,
            "schema": encoded.schema,
            "recorded_at": self._change.recorded_at,
        }
        return {**row, "hash": row_hash(head.hash, row)}


def needs_newer(head: Head) -> str:
    """Says that this build cannot read the stream."""
    return f"{head.stream} holds events of a newer hermes-jobs (level {head.reader}): upgrade this one."


def _head(
    stream: str, version: int | None, digest: str | None, segment: int | None, reader: int | None
) -> Head:
    """A stream's head as selected; all null where it does not exist."""
    return Head(
        stream=stream, version=version or 0, hash=digest or "", segment=segment or 1, reader=reader or 1
    )


def _advanced(head: Head, row: dict[str, Any], reader: int) -> Head:
    return replace(head, version=row["version"], hash=row["hash"], reader=max(head.reader, reader))


def _check_keys(connection: Connection, keys: Sequence[Key]) -> None:
    for key in keys:
        row = connection.execute(KEY, {"scope": key.scope, "name": key.key}).first()
        if row is not None:
            first = to_key_row(row)
            raise KeyTaken(first.scope, first.key, first.stream, first.position, first.digest)


def _pass_guard(connection: Connection, guard: Guard) -> None:
    statement = _claim_step if guard.action == "claim" else _finish_step
    values = {"name": guard.step, "holder": guard.owner, "number": guard.fence}
    if statement.run(connection, values).rowcount == 0:
        whose = "free to claim" if guard.action == "claim" else f"held by {guard.owner} under that fence"
        raise StepLost(f"Step {guard.step} is not {whose}.")


def _write_head(connection: Connection, head: Head, *, is_new: bool) -> None:
    values = {"version": head.version, "hash": head.hash, "segment": head.segment, "reader": head.reader}
    if is_new:
        _insert_head.run(connection, {"stream": head.stream, **values})
    else:
        _update_head.run(connection, {"name": head.stream, **values})


def _write_steps(connection: Connection, write: StreamWrite) -> None:
    _delete_step.run_each(connection, [{"name": step_id} for step_id in write.gone])
    _upsert_step.run_each(connection, [step_values(step) for step in write.due])


def step_values(step: Step) -> dict[str, Any]:
    """The row of a step that nobody holds."""
    return {
        "id": step.id,
        "stream": step.stream,
        "kind": step.kind,
        "lane": step.lane,
        "attempt": step.attempt,
        "not_before": step.not_before,
        "owner": None,
        "fence": 0,
    }


def _write_keys(connection: Connection, keys: Sequence[Key], first: Recorded) -> None:
    place = {"stream": first.stream, "position": first.position}
    rows = [{"scope": each.scope, "key": each.key, "digest": each.digest, **place} for each in keys]
    _insert_key.run_each(connection, rows)


def _write_results(connection: Connection, results: Sequence[LargeResult]) -> None:
    rows = [{"call": each.call, "content": each.content} for each in results]
    _upsert_result.run_each(connection, rows)
