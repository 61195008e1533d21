"""Imports the lines of an export into an empty log, in one transaction, after checking all of them.

Heads, due steps and budgets are computed from the events. Positions are assigned again, so that they have no
gaps; a stream that the target already has is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple, assert_never

import msgspec

from hermes_jobs.errors import HermesJobsError, NewerSchema, Rejected
from hermes_jobs.kernel.events import Event, TextsForgotten
from hermes_jobs.kernel.log import statements as sql
from hermes_jobs.kernel.log.append import head_values, key_values, result_values
from hermes_jobs.kernel.log.blobs import BlobStore, digest_of, named_in
from hermes_jobs.kernel.log.codec import escaped
from hermes_jobs.kernel.log.log import OPAQUE, Head
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
    invalid_line,
    to_line,
)
from hermes_jobs.kernel.log.rows import event_row, row_hash
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.transaction import DayOf, TransactionLog, rebuild_steps_and_budgets
from hermes_jobs.kernel.streams.decision import UniqueKey
from hermes_jobs.kernel.streams.event_types import SINCE
from hermes_jobs.kernel.streams.streams import is_known
from hermes_jobs.kernel.turns.session import is_session
from hermes_jobs.system.struct_types import described

_ROWS_AT_ONCE = 1000


class ImportResult(msgspec.Struct, frozen=True, kw_only=True):
    """The imported streams, in the order of their first events; `known` are those the target already had.

    `waiting`: the imported sessions that wait for others, which may not be imported.
    """

    num_events: int
    streams: tuple[str, ...]
    known: tuple[str, ...]
    waiting: tuple[str, ...] = ()


class _StreamEnd(msgspec.Struct):
    """How far a stream of the file has been read. `is_known`: the target already has it."""

    version: int
    hash: str
    min_build_level: int
    is_known: bool


def import_log(
    log: TransactionLog,
    raws: Iterable[bytes],
    day_of: DayOf,
    target: SqlEventLog,
    is_wanted: Callable[[str], bool] = lambda stream: True,
    seen: Callable[[str, Event], None] = lambda stream, event: None,
    blobs: BlobStore | None = None,
) -> ImportResult:
    """Import the streams that are `wanted` and not in the `target`, to which they will be copied.

    What they name is put into `blobs` at once: it is collected later where the import does not end.
    `seen` is called with the stream and each event that is imported.
    Memory grows with streams, not with events. Raises `Rejected`, naming the line, for a line that cannot be
    read or was changed; for a stream that the target has with other content; and for events that only a newer
    hermes-jobs can read.
    """
    reading = _Import(log, target, blobs, is_wanted, seen)
    for number, line in _checked(raws):
        reading.add(number, line)
    reading.finish()
    folded = [stream for stream in reading.added if is_known(stream)]
    waiting = rebuild_steps_and_budgets(log, folded, reading.steps, day_of, reading.without_steps)
    return ImportResult(
        num_events=reading.num_events,
        streams=tuple(reading.added),
        known=tuple(name for name, end in reading.ends.items() if end.is_known),
        waiting=tuple(waiting),
    )


def _checked(raws: Iterable[bytes]) -> Iterator[tuple[int, AnyLine]]:
    """The numbered lines before the end, after a check of the header and the end."""
    digest, num_events, number, ended = sha256(), 0, 0, False
    for number, raw in enumerate(raws, 1):
        line = to_line(raw, number)
        if ended:
            raise invalid_line(number, "no line may follow the end")
        if isinstance(line, ExportHeader) != (number == 1):
            raise invalid_line(number, "an export begins with its header, and has one")
        if isinstance(line, ExportHeader):
            _check_header(line)
            yield number, line
        elif isinstance(line, ExportEnd):
            ended = True
            if (line.events, line.sha256) != (num_events, digest.hexdigest()):
                raise invalid_line(number, "what came before it is not what was written")
        else:
            yield number, line
        num_events += isinstance(line, EventLine)
        digest.update(raw)
    if not ended:
        raise invalid_line(number + 1, "it is missing; the file stops before its end")


def _check_header(header: ExportHeader) -> None:
    if header.format > FORMAT:
        raise Rejected(
            f"The export has format {header.format}, made by hermes-jobs {header.version}; "
            f"this one reads formats up to {FORMAT}.",
            kind="newer_export",
            hint="Upgrade hermes-jobs.",
        )


class _Changed(NamedTuple):
    """An event whose hash differs; valid only if a later event records that its texts were removed."""

    number: int
    stream: str
    version: int
    hash: str
    unreadable: Rejected | None


class _Import:
    """One pass over the lines. Events are written in batches; the ends of streams are collected."""

    def __init__(
        self,
        log: TransactionLog,
        target: SqlEventLog,
        blobs: BlobStore | None,
        is_wanted: Callable[[str], bool],
        seen: Callable[[str, Event], None],
    ) -> None:
        self.num_events = 0
        self.ends: dict[str, _StreamEnd] = {}
        self.steps: dict[str, StepLine] = {}
        self.without_steps: frozenset[str] = frozenset()
        self._log = log
        self._target = target
        self._blobs = blobs
        self._named: set[str] = set()
        self._is_wanted = is_wanted
        self._seen = seen
        self._position = 0
        self._last_read = 0
        self._rows: list[dict[str, Any]] = []
        self._tombstones = Tombstones()
        self._changed: list[_Changed] = []

    @property
    def added(self) -> list[str]:
        """The streams that the target does not have."""
        return [name for name, end in self.ends.items() if not end.is_known]

    def add(self, number: int, line: AnyLine) -> None:
        match line:
            case EventLine():
                if self._is_tombstone(line) or self._is_wanted(line.stream):
                    self._add_event(number, line)
            case KeyLine():
                if self._is_new(line.stream):
                    self._add_key(number, line)
            case ResultLine():
                if self._log.result(line.call) is None:
                    values = result_values(line.call, line.content)
                    self._log.connection.execute(sql.UPSERT_RESULT, values)
            case BlobLine():
                self._add_blob(line)
            case StepLine():
                if self._is_new(line.stream) and is_known(line.stream):
                    self.steps[line.step] = line
            case ExportHeader():
                self.without_steps = frozenset(line.opaque)
            case ExportEnd():
                raise AssertionError("it was looked at before")
            case _:
                assert_never(line)

    def _add_blob(self, line: BlobLine) -> None:
        if self._blobs is not None and digest_of(line.content) in self._named:
            self._blobs.put(line.content)

    def finish(self) -> None:
        """After the last line: write what waits, and the heads of streams."""
        self._check_changed()
        self._flush()
        for name, end in self.ends.items():
            if end.is_known:
                self._check_known(name, end)
        for head in self._target.importing_streams():
            self._check_importing(head)
        heads = [
            Head(stream=name, version=end.version, hash=end.hash, min_build_level=end.min_build_level)
            for name, end in self.ends.items()
            if not end.is_known
        ]
        self._log.connection.executemany(sql.INSERT_HEAD, map(head_values, heads))

    def _is_tombstone(self, line: EventLine) -> bool:
        """Whether the event says which texts were removed from events that came in before it."""
        if line.type != TextsForgotten.__name__:
            return False
        with suppress(msgspec.MsgspecError):
            event = msgspec.json.decode(line.data, type=described(TextsForgotten))
            self._tombstones.add(event)
            return any(map(self._is_new, event.tombstones))
        return False

    def _check_changed(self) -> None:
        for stream in self._changed:
            if not self._tombstones.covers(stream.stream, stream.version, stream.hash):
                raise invalid_line(
                    stream.number, f"version {stream.version} of {stream.stream} is not what was written"
                )
            if stream.unreadable is not None:
                raise stream.unreadable

    def _is_new(self, stream: str) -> bool:
        end = self.ends.get(stream)
        return end is not None and not end.is_known

    def _add_event(self, number: int, line: EventLine) -> None:
        self._check_order(number, line)
        end = self.ends.get(line.stream)
        if end is None:
            level = 1 if is_known(line.stream) else OPAQUE
            is_here = self._target.head(line.stream) is not None
            self.ends[line.stream] = end = _StreamEnd(0, "", level, is_here)
        if line.version != end.version + 1:
            raise invalid_line(
                number, f"version {line.version} of {line.stream} follows on version {end.version}"
            )
        row = event_row(line, self._position + 1)
        computed_hash = row_hash(end.hash, {**row, "stream": line.stream})
        event = self._decoded(number, line, row["data"])
        unreadable = event if isinstance(event, Rejected) else None
        if line.hash != computed_hash:
            self._changed.append(_Changed(number, line.stream, line.version, computed_hash, unreadable))
        elif unreadable is not None:
            raise unreadable
        end.version, end.hash = line.version, line.hash
        end.min_build_level = max(end.min_build_level, SINCE.get(line.type, 1))
        if not end.is_known:
            self._position += 1
            self.num_events += 1
            self._rows.append(row)
            self._named.update(named_in(row["data"]))
            if isinstance(event, Event):
                self._seen(line.stream, event)
            if len(self._rows) >= _ROWS_AT_ONCE:
                self._flush()

    def _check_order(self, number: int, line: EventLine) -> None:
        if line.position <= self._last_read:
            raise invalid_line(number, f"position {line.position} follows on position {self._last_read}")
        self._last_read = line.position

    def _decoded(self, number: int, line: EventLine, data: str) -> Event | Rejected:
        """The event, or why this build cannot read it."""
        try:
            return self._log.codec.decode(line.type, data, line.schema, line.stream)
        except NewerSchema as error:
            message = f"Line {number} of the export: {error}"
            return Rejected(message, kind="newer_export", hint="Nothing was imported.")
        except HermesJobsError as error:
            return invalid_line(number, str(error).rstrip("."))
        except RecursionError:
            return invalid_line(number, "it is nested too deep")

    def _add_key(self, number: int, line: KeyLine) -> None:
        self._flush()
        at = {"name": escaped(line.stream), "version": line.version}
        row = self._log.connection.execute(sql.SELECT_POSITION, at).fetchone()
        if row is None:
            raise invalid_line(
                number, f"it points at version {line.version} of {line.stream}, which is missing"
            )
        key = UniqueKey(scope=line.scope, key=line.key, digest=line.digest)
        self._log.connection.execute(sql.INSERT_KEY, key_values(key, line.stream, row[0]))

    def _check_known(self, stream: str, end: _StreamEnd) -> None:
        """Check that the target's stream begins with the file's events of it; hashes are chained."""
        here = self._target.read(stream, after=end.version - 1, upto=end.version)
        if not here or here[0].hash != end.hash:
            raise _other_content(stream)

    def _check_importing(self, head: Head) -> None:
        """Check that the events of an interrupted import are the file's."""
        if head.stream not in self.ends:
            return
        at = {"name": escaped(head.stream), "version": head.version}
        row = self._log.connection.execute(sql.SELECT_HASH, at).fetchone()
        if row is None or row[0] != head.hash:
            raise _other_content(head.stream)

    def _flush(self) -> None:
        if self._rows:
            self._log.connection.executemany(sql.INSERT_EVENT, self._rows)
            self._rows = []


def _other_content(stream: str) -> Rejected:
    alone = "" if is_session(stream) else " Or import its sessions alone: --sessions."
    return Rejected(
        f"{stream} is here already, with other content than the export has.",
        kind="other_content",
        hint=f"Nothing was imported. Import it into another, empty home: set HERMES_JOBS_HOME.{alone}",
    )
