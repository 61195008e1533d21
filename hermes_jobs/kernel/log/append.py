"""One append inside a write transaction: every condition is checked before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from msgspec.structs import replace

from hermes_jobs.errors import Conflict, KeyTaken, NewerSchema, Rejected, StepLost
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log import statements as sql
from hermes_jobs.kernel.log.budget_rows import charge
from hermes_jobs.kernel.log.codec import Codec, EncodedEvent, escaped, to_json
from hermes_jobs.kernel.log.database import Connection, Values
from hermes_jobs.kernel.log.log import IMPORTING, OPAQUE, Append, Head, StepGuard, StreamWrite
from hermes_jobs.kernel.log.rows import row_hash, to_key_row, to_recorded_event
from hermes_jobs.kernel.streams.decision import LargeResult, UniqueKey
from hermes_jobs.kernel.turns.steps import Step


class PreparedAppend:
    """An append with its events encoded, before any lock is taken."""

    def __init__(self, change: Append, codec: Codec) -> None:
        """Raises `Corrupt` where an event's type is not declared, `ValueError` for keys that cannot be."""
        self._change = change
        self._level = codec.reads_up_to
        self._meta = to_json(change.meta)
        self._encoded = [[codec.encode(event) for event in write.events] for write in change.writes]
        if change.keys and not self.has_events:
            raise ValueError("a key points at an event, and this append carries none")
        self._dropped = _dropped_with_its_guard(change)
        if len({(key.scope, key.key) for key in change.keys}) < len(change.keys):
            raise ValueError("a key appears twice in this append")

    @property
    def has_events(self) -> bool:
        """Whether it writes any event, rather than a step's row alone."""
        return any(self._encoded)

    @property
    def size(self) -> int:
        """About how many characters it writes."""
        contents = sum(len(result.content) for result in self._change.results)
        return contents + sum(len(event.data) for events in self._encoded for event in events)

    def execute(self, connection: Connection) -> tuple[RecordedEvent, ...]:
        """Raises `Conflict`, `KeyTaken`, `StepLost`, `OverBudget` or `NewerSchema`, with no event written."""
        change = self._change
        heads, position = self._checked_ends(connection)
        _check_keys(connection, change.keys)
        if change.guard is not None:
            _apply_guard(connection, change.guard, drops=change.guard.step in self._dropped)
        if change.charges:
            charge(connection, change.charges, change.limits)
        with connection.batch() if self.has_events else nullcontext():
            recorded = self._write_events(connection, heads, position)
            for write in change.writes:
                _write_steps(connection, write, self._dropped)
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
                [(*state, position)] = connection.execute(sql.SELECT_END, {"name": escaped(name)}).fetchall()
                heads[name] = head = _head(name, *state)
                versions[name] = head.version
                if head.min_build_level == IMPORTING:
                    raise still_importing(name)
                if head.min_build_level > self._level:
                    raise NewerSchema(needs_newer(head))
            if write.expected not in {None, versions[name]}:
                raise Conflict(f"{name} is at version {versions[name]}, not {write.expected}: load it again.")
            versions[name] += len(write.events)
        return heads, position

    def _write_events(
        self, connection: Connection, heads: dict[str, Head], position: int
    ) -> tuple[RecordedEvent, ...]:
        """Write each event behind the one before it, and the heads that follow."""
        recorded: list[RecordedEvent] = []
        rows: list[dict[str, Any]] = []
        ends = dict(heads)
        for write, encoded in zip(self._change.writes, self._encoded, strict=True):
            for row in encoded:
                rows.append(self._row(row, ends[write.stream], position + len(rows) + 1))
                ends[write.stream] = _advanced(ends[write.stream], rows[-1], row.min_build_level)
                recorded.append(to_recorded_event(rows[-1], row.event, self._change.meta))
        _run_each(connection, sql.INSERT_EVENT, [{**row, "stream": escaped(row["stream"])} for row in rows])
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
    """The message that the stream cannot be read or written here."""
    level = head.min_build_level
    if level == OPAQUE:
        return (
            f"{head.stream} was imported while its feature was not installed: `hermes-jobs backup` this "
            "home, and `hermes-jobs restore` it into an empty one."
        )
    return f"{head.stream} holds events of a newer hermes-jobs (level {level}): upgrade this one."


def still_importing(stream: str) -> Rejected:
    """The refusal of a stream that is only partly imported."""
    return Rejected(
        f"{stream} is still coming in.",
        kind="arriving",
        hint="Wait for the `hermes-jobs import`; if it was broken off, run the same one again.",
    )


def _head(stream: str, version: int | None, digest: str | None, level: int | None) -> Head:
    """A stream's head as selected; all values are None where it does not exist."""
    return Head(stream=stream, version=version or 0, hash=digest or "", min_build_level=level or 1)


def _advanced(head: Head, row: dict[str, Any], level: int) -> Head:
    needed = max(head.min_build_level, level)
    return replace(head, version=row["version"], hash=row["hash"], min_build_level=needed)


def _run_each(connection: Connection, statement: str, rows: Sequence[Values]) -> None:
    if len(rows) == 1:
        connection.execute(statement, rows[0])
    elif rows:
        connection.executemany(statement, rows)


def _check_keys(connection: Connection, keys: Sequence[UniqueKey]) -> None:
    for key in keys:
        row = connection.execute(
            sql.SELECT_KEY, {"scope": escaped(key.scope), "name": escaped(key.key)}
        ).fetchone()
        if row is not None:
            first = to_key_row(row)
            raise KeyTaken(first.scope, first.key, first.stream, first.position, first.digest)


def _dropped_with_its_guard(change: Append) -> frozenset[str]:
    """The step whose row is deleted by the statement that checks its claim."""
    guard = change.guard
    if guard is None or guard.action == "claim":
        return frozenset()
    return frozenset(guard.step for write in change.writes if guard.step in write.dropped)


def _apply_guard(connection: Connection, guard: StepGuard, *, drops: bool) -> None:
    finish = sql.DROP_STEP if drops else sql.FINISH_STEP
    statement = sql.CLAIM_STEP if guard.action == "claim" else finish
    values = {"name": escaped(guard.step), "owner": escaped(guard.owner), "fence": guard.fence}
    if connection.execute(statement, values).rowcount == 0:
        whose = "free to claim" if guard.action == "claim" else f"held by {guard.owner} under that fence"
        raise StepLost(f"Step {guard.step} is not {whose}.")


def _write_head(connection: Connection, head: Head, *, is_new: bool) -> None:
    connection.execute(sql.INSERT_HEAD if is_new else sql.UPDATE_HEAD, head_values(head))


def head_values(head: Head) -> dict[str, Any]:
    """The row of a stream's end."""
    return {
        "stream": escaped(head.stream),
        "version": head.version,
        "hash": head.hash,
        "reader": head.min_build_level,
    }


def _write_steps(connection: Connection, write: StreamWrite, dropped: frozenset[str]) -> None:
    removed = [{"name": escaped(step_id)} for step_id in write.dropped if step_id not in dropped]
    _run_each(connection, sql.DELETE_STEP, removed)
    _run_each(connection, sql.UPSERT_STEP, [step_values(step) for step in write.due])


def step_values(step: Step) -> dict[str, Any]:
    """The row of an unclaimed step."""
    return {
        "id": escaped(step.id),
        "stream": escaped(step.stream),
        "kind": step.kind,
        "lane": step.queue,
        "attempt": step.attempt,
        "not_before": step.not_before,
        "owner": None,
        "fence": 0,
    }


def key_values(key: UniqueKey, stream: str, position: int) -> dict[str, Any]:
    """The row of a key, which points at the event at that position."""
    return {
        "scope": escaped(key.scope),
        "key": escaped(key.key),
        "stream": escaped(stream),
        "position": position,
        "digest": escaped(key.digest),
    }


def _write_keys(connection: Connection, keys: Sequence[UniqueKey], first: RecordedEvent) -> None:
    rows = [key_values(key, first.stream, first.position) for key in keys]
    _run_each(connection, sql.INSERT_KEY, rows)


def _write_results(connection: Connection, results: Sequence[LargeResult]) -> None:
    rows = [result_values(result.call, result.content) for result in results]
    _run_each(connection, sql.UPSERT_RESULT, rows)


def result_values(call: str, content: str) -> dict[str, Any]:
    """The row of a large result."""
    return {"call": escaped(call), "content": to_json(content)}
