"""Removing texts from the log: the one exception to the rule that an event never changes.

In one transaction the texts of events become marks, large results and keys too, and one event is appended
that records its author, its reason and the new hash of each of these events. Each event keeps its original
hash, so that the chain holds: see `tombstones`. Everything else stays unchanged, byte by byte. A repeated
call has no effect: removed texts are not found again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory.rules.memory import STREAM as MEMORY
from hermes_jobs.features.recall.events import EmbeddingPlanned
from hermes_jobs.features.recall.rules import VECTORS, stream_of, vectors_of, without
from hermes_jobs.kernel.events import Event, TextsForgotten, Tombstone, ToolFinished
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log import statements as sql
from hermes_jobs.kernel.log.append import PreparedAppend, result_values, still_importing
from hermes_jobs.kernel.log.blobs import named_in
from hermes_jobs.kernel.log.codec import Codec, escaped, unescaped
from hermes_jobs.kernel.log.database import Connection
from hermes_jobs.kernel.log.export_log import all_keys, pages
from hermes_jobs.kernel.log.log import IMPORTING, Append, StreamWrite
from hermes_jobs.kernel.log.opaque import opaque_events
from hermes_jobs.kernel.log.portable import moved
from hermes_jobs.kernel.log.rows import StoredEvent, row_hash, to_stored_event
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.streams.forgetting import ERASED, KEY_SCOPE, NEWEST, PREFIX, Removal, excluding_stored
from hermes_jobs.kernel.streams.streams import is_known
from hermes_jobs.kernel.streams.texts import scrubbed, texts_of

E = TypeVar("E", bound=Event)

SHOWN = 3  # streams that a message names
_RESULTS_AT_ONCE = 10


class Rewrite(NamedTuple):
    """An event without its texts; `hash` is that of its row since. `dropped`: what it named, and no longer
    does."""

    stream: str
    version: int
    data: str
    schema: int
    hash: str
    dropped: frozenset[str] = frozenset()


class Matches(msgspec.Struct, frozen=True, kw_only=True):
    """What a removal finds in the log, up to `position`. `results` and `keys` are those that change or are
    removed.

    `named`: the events in whose names the pattern is found too (ids, tools, models, skills): they stay.
    """

    position: int
    rewrites: tuple[Rewrite, ...] = ()
    results: Mapping[str, str] = {}
    keys: tuple[tuple[str, str], ...] = ()
    named: int = 0

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that hold what is found, each once."""
        return tuple(dict.fromkeys(rewrite.stream for rewrite in self.rewrites))

    @property
    def blobs(self) -> tuple[str, ...]:
        """The digests of attached contents that these events name no longer."""
        return tuple(sorted(frozenset[str]().union(*(rewrite.dropped for rewrite in self.rewrites))))

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.rewrites or self.results or self.keys)


def find(log: SqlEventLog, removal: Removal) -> Matches:
    """The changes that the removal would make now.

    Raises `Rejected` during an import, `NewerSchema` or `Corrupt` where an event cannot be read,
    and `LogUnavailable`.
    """
    with log.snapshot() as connection:
        return _Search(connection, log.codec, removal).everything()


def forget(
    log: SqlEventLog,
    removal: Removal,
    matches: Matches,
    event: TextsForgotten,
    *,
    meta: EventMeta,
    recorded_at: str,
    force: bool = False,
) -> int:
    """Remove the texts found, and those appended since; the position of the event that records it.

    0: nothing was found. `event` holds everything except the changes. Raises what `find` does, and
    `Rejected` where work is under way there, unless `force` is set.
    """

    def act(connection: Connection) -> int:
        found_now = _Search(connection, log.codec, removal).since(matches)
        if not found_now:
            return 0
        if not force:
            _check_rest(connection, removal, found_now)
        _rewrite(connection, found_now)
        recorded_event = replace(
            event,
            tombstones=_tombstones(found_now),
            results=tuple(found_now.results),
            blobs=found_now.blobs,
        )
        write = StreamWrite(stream=f"{PREFIX}{event.forgetting}", events=(recorded_event,), expected=0)
        change = Append(meta=meta, recorded_at=recorded_at, writes=(write,))
        [recorded] = PreparedAppend(change, log.codec).execute(connection)
        connection.execute(sql.MOVE_KEY, moved(NEWEST, recorded.stream, recorded.position))
        return recorded.position

    return log.change_tables(act)


def erase_remains(log: SqlEventLog) -> bool:
    """Erase forgotten texts from the database's files; whether none of them is left.

    Has no effect after a complete erasure. Raises `LogUnavailable`.
    """
    newest, erased = log.key(KEY_SCOPE, NEWEST), log.key(KEY_SCOPE, ERASED)
    if newest is None or (erased is not None and erased.position == newest.position):
        return True
    if not log.erase_deleted():
        return False
    log.change_tables(
        lambda connection: connection.execute(sql.MOVE_KEY, moved(ERASED, newest.stream, newest.position))
    )
    return True


def _rewrite(connection: Connection, matches: Matches) -> None:
    rows = [
        {
            "stream": escaped(rewrite.stream),
            "version": rewrite.version,
            "data": rewrite.data,
            "schema": rewrite.schema,
        }
        for rewrite in matches.rewrites
    ]
    if rows:
        connection.executemany(sql.REWRITE_EVENT, rows)
    for call, content in matches.results.items():
        connection.execute(sql.UPSERT_RESULT, result_values(call, content))
    for scope, key in matches.keys:
        connection.execute(sql.DELETE_KEY, {"scope": escaped(scope), "key": escaped(key)})


def _tombstones(matches: Matches) -> Mapping[str, tuple[Tombstone, ...]]:
    by_stream: dict[str, list[Tombstone]] = {}
    for rewrite in matches.rewrites:
        by_stream.setdefault(rewrite.stream, []).append(Tombstone(rewrite.version, rewrite.hash))
    return {stream: tuple(tombstones) for stream, tombstones in by_stream.items()}


class _Search:
    """One search through the tables for the rows that a removal changes."""

    def __init__(self, connection: Connection, codec: Codec, removal: Removal) -> None:
        self._connection = connection
        self._codec = codec
        self._removal = removal
        self._memory = removal.text
        self._calls: list[str] = []
        self._named = 0

    def everything(self) -> Matches:
        """What is found in all events, results and keys."""
        self._check_nothing_imports()
        rewrites = tuple(self._rewrites(self._events()))
        return self._matches(rewrites)

    def since(self, before: Matches) -> Matches:
        """The same, where events up to a position were searched before."""
        if self._position() == before.position:
            return before
        self._check_nothing_imports()
        news = [*self._after(before.position)]
        if any(record.stream == MEMORY for record in news):  # because together they identify an entry
            return self.everything()
        return self._matches((*before.rewrites, *self._rewrites(news)), before)

    def _matches(self, rewrites: tuple[Rewrite, ...], before: Matches | None = None) -> Matches:
        everywhere = before is None and self._removal.streams is None
        results = {} if before is None else dict(before.results)
        return Matches(
            position=self._position(),
            rewrites=rewrites,
            results={
                **results,
                **dict(self._results(everywhere=everywhere)),
                **dict(self._vectors(rewrites)),
            },
            keys=tuple(self._keys()),
            named=self._named + (before.named if before is not None else 0),
        )

    def _position(self) -> int:
        position: int = self._connection.execute(sql.SELECT_LAST_POSITION).fetchone()[0]
        return position

    def _check_nothing_imports(self) -> None:
        row = self._connection.execute(sql.SELECT_HEADS_AT, {"level": IMPORTING}).fetchone()
        if row is not None:
            raise still_importing(unescaped(row[0]))

    def _events(self) -> Iterator[StoredEvent]:
        if self._removal.streams is not None:
            for stream in sorted(self._removal.streams):
                values = {"name": escaped(stream), "after": 0, "upto": 2**31 - 1}
                yield from map(
                    to_stored_event, self._connection.execute(sql.SELECT_STREAM, values).fetchall()
                )
            for row in opaque_events(self._connection) if self._removal.ids else ():
                if self._removal.concerns(row.stream, row.data, is_opaque=True):
                    yield row
            return
        first = {"stream": "", "version": 0}
        key_of = lambda row: {"stream": row[1], "version": row[2]}  # noqa: E731
        yield from map(to_stored_event, pages(self._connection, sql.EVENTS_BY_STREAM_PAGE, first, key_of))

    def _after(self, position: int) -> Iterator[StoredEvent]:
        statement = sql.EVENTS_PAGE.format("")
        rows = pages(self._connection, statement, {"position": position}, lambda row: {"position": row[0]})
        for row in map(to_stored_event, rows):
            if self._removal.concerns(row.stream, row.data, is_opaque=not is_known(row.stream)):
                yield row

    def _rewrites(self, rows: Iterable[StoredEvent]) -> Iterator[Rewrite]:
        if self._removal.streams is None or MEMORY in self._removal.streams:
            self._memory = excluding_stored(self._removal.text, tuple(self._memory_texts()))
        for row in rows:
            rewrite = self._rewrite_of(row)
            if rewrite is not None:
                yield rewrite

    def _memory_texts(self) -> Iterator[str]:
        values = {"name": MEMORY, "after": 0, "upto": 2**31 - 1}
        for row in map(to_stored_event, self._connection.execute(sql.SELECT_STREAM, values).fetchall()):
            yield from texts_of(self._codec.decode(row.type, row.data, row.schema, row.stream))

    def _rewrite_of(self, row: StoredEvent) -> Rewrite | None:
        event = self._codec.decode(row.type, row.data, row.schema, row.stream)
        if isinstance(event, ToolFinished) and event.spilled_to is not None:
            self._calls.append(event.call)
        text = self._memory if row.stream == MEMORY else self._removal.text
        after = scrubbed(event, text, self._removal.blobs)
        encoded = self._codec.encode(after)
        is_named = self._removal.found(f"{row.stream} {encoded.data}")
        self._named += is_named
        # Unknown fields are removed if the pattern matches in them.
        is_unknown = after == event and not is_named and self._removal.found(row.data)
        if after == event and not is_unknown:
            return None
        changed = row._replace(data=encoded.data, schema=encoded.schema)._asdict()
        digest = row_hash(self._hash_before(row), changed)
        dropped = frozenset(named_in(row.data)) - frozenset(named_in(encoded.data))
        return Rewrite(row.stream, row.version, encoded.data, encoded.schema, digest, dropped)

    def _hash_before(self, row: StoredEvent) -> str:
        if row.version == 1:
            return ""
        values = {"name": escaped(row.stream), "version": row.version - 1}
        digest: str = self._connection.execute(sql.SELECT_HASH, values).fetchone()[0]
        return digest

    def _results(self, *, everywhere: bool) -> Iterator[tuple[str, str]]:
        for call, stored in self._all_results() if everywhere else self._results_of(self._calls):
            if call.startswith(VECTORS):
                continue
            content = msgspec.json.decode(stored, type=str)
            after = self._removal.text(content)
            if after != content:
                yield call, after

    def _vectors(self, rewrites: Iterable[Rewrite]) -> Iterator[tuple[str, str]]:
        """The remaining vectors of plans with texts in the changed streams, whose vectors are all removed."""
        streams = {rewrite.stream for rewrite in rewrites}
        values = {"type": EmbeddingPlanned.__name__}
        for _, data, schema in (
            self._connection.execute(sql.SELECT_TYPE, values).fetchall() if streams else ()
        ):
            plan = self._codec.decode(EmbeddingPlanned.__name__, data, schema)
            assert isinstance(plan, EmbeddingPlanned), f"{plan} is stored as another event"
            call = vectors_of(stream_of(plan.embedding))
            if streams.isdisjoint(text.stream for text in plan.texts):
                continue
            for _, stored in self._results_of([call]):
                before = msgspec.json.decode(stored, type=str)
                after = without(plan, streams, before)
                if after != before:
                    yield call, after

    def _all_results(self) -> Iterator[tuple[str, str]]:
        first = {"call": ""}
        key_of = lambda row: {"call": row[0]}  # noqa: E731
        for call, content in pages(self._connection, sql.RESULTS_PAGE, first, key_of, _RESULTS_AT_ONCE):
            yield unescaped(call), content

    def _results_of(self, calls: Iterable[str]) -> Iterator[tuple[str, str]]:
        for call in calls:
            row = self._connection.execute(sql.SELECT_RESULT, {"name": escaped(call)}).fetchone()
            if row is not None:
                yield call, row[0]

    def _keys(self) -> Iterator[tuple[str, str]]:
        streams = self._removal.streams
        for key, *_ in all_keys(self._connection, streams):
            if self._removal.drops(key.scope, key.key, key.stream):
                yield key.scope, key.key


def _check_rest(connection: Connection, removal: Removal, matches: Matches) -> None:
    """Raises `Rejected` if a changed stream has a claimed step, or a removed stream a due one."""
    statement = sql.SELECT_CLAIMED if removal.streams is None else sql.SELECT_STREAMS_OF_STEPS
    working = {unescaped(row[0]) for row in connection.execute(statement).fetchall()}
    busy = [stream for stream in matches.streams if stream in working and is_known(stream)]
    if busy:
        raise Rejected(
            f"Work is under way in {', '.join(busy[:SHOWN])}{' …' * (len(busy) > SHOWN)}.",
            kind="busy",
            hint="Wait until it has ended, or cancel it: hermes-jobs turns cancel TURN, reviews cancel ID. "
            "--force continues.",
        )


def events_of_type(log: SqlEventLog, kind: type[E]) -> Sequence[tuple[str, E]]:
    """Every event of that type, with its stream, in order.

    Raises `Corrupt`, `NewerSchema`, `LogUnavailable`.
    """
    name = kind.__name__
    with log.snapshot() as connection:
        rows = connection.execute(sql.SELECT_TYPE, {"type": name}).fetchall()
    decoded = ((unescaped(stream), log.codec.decode(name, data, schema)) for stream, data, schema in rows)
    return [(stream, event) for stream, event in decoded if isinstance(event, kind)]
