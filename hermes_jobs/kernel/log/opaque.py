"""Streams of features that this installation does not have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from hermes_jobs.kernel.log import statements as sql
from hermes_jobs.kernel.log.codec import escaped, unescaped
from hermes_jobs.kernel.log.database import Connection
from hermes_jobs.kernel.log.log import IMPORTING, OPAQUE
from hermes_jobs.kernel.log.rows import StoredEvent, to_head, to_stored_event
from hermes_jobs.kernel.streams.streams import is_known, prefixes


def opaque_streams(connection: Connection) -> Sequence[str]:
    """The names of the streams that are of no known kind, in their order."""
    statement, values = sql.select_outside([escaped(prefix) for prefix in prefixes()])
    rows = connection.execute(statement, {**values, "importing": IMPORTING}).fetchall()
    return [unescaped(name) for (name,) in rows]


def unfolded_streams(connection: Connection) -> Sequence[str]:
    """The streams of known kinds that were imported by an installation without their feature."""
    rows = connection.execute(sql.SELECT_HEADS_AT, {"level": OPAQUE}).fetchall()
    return [head.stream for head in map(to_head, rows) if is_known(head.stream)]


def kinds_of(streams: Collection[str]) -> dict[str, int]:
    """How many of these streams there are by the first word of their names, up to the first hyphen."""
    words = [stream.partition("-")[0] for stream in streams]
    return {word: words.count(word) for word in sorted(set(words))}


def opaque_events(connection: Connection) -> Iterator[StoredEvent]:
    """The events of those streams, by stream and version."""
    for stream in opaque_streams(connection):
        values = {"name": escaped(stream), "after": 0, "upto": 2**31 - 1}
        yield from map(to_stored_event, connection.execute(sql.SELECT_STREAM, values).fetchall())
