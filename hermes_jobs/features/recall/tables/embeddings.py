"""Vectors of texts as rows, and the texts without one. See `features.recall.rules`."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Iterable, Mapping, Sequence
from sqlite3 import Connection
from typing import Final, NamedTuple

import msgspec

from hermes_jobs.features.recall import events as recall_events
from hermes_jobs.features.recall.rules import PREFIX, vectors_of
from hermes_jobs.features.recall.tables.exchanges import LINEAGES, Exchange, positions_of
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.kernel.views.children import CHAIN
from hermes_jobs.kernel.views.message_texts import LargeResults
from hermes_jobs.text.vectors import nearest, signs


class NearVector(NamedTuple):
    """A text that is near, by its digest, and the cosine."""

    digest: str
    cosine: float


class EmbeddingCounts(NamedTuple):
    """The numbers of texts with a vector of a model, and with a planned one."""

    there: int
    planned: int


class Embeddings:
    """Table `embeddings`. `vector` is NULL while planned; `place` is its place in the plan of `stream`."""

    name: Final = "embeddings"
    tables: Final = """
        CREATE TABLE embeddings (
            number INTEGER PRIMARY KEY, model TEXT NOT NULL, digest TEXT NOT NULL, stream TEXT NOT NULL,
            place INTEGER NOT NULL, signs BLOB, vector BLOB, UNIQUE (model, digest)
        );
        CREATE INDEX embeddings_by_stream ON embeddings (stream, place);
    """
    event_types: Final = (recall_events.EmbeddingPlanned, e.HelperCallEnded, e.HelperCallFailed)

    def __init__(self, large_results: LargeResults) -> None:
        self._large_results = large_results

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            if not recorded.stream.startswith(PREFIX):
                continue  # another helper call
            match recorded.event:
                case recall_events.EmbeddingPlanned() as plan:
                    connection.executemany(
                        "INSERT OR IGNORE INTO embeddings (model, digest, stream, place) VALUES (?, ?, ?, ?)",
                        [
                            (plan.model, each.digest, recorded.stream, at)
                            for at, each in enumerate(plan.texts)
                        ],
                    )
                case e.HelperCallEnded():
                    self._take(connection, recorded.stream)
                case e.HelperCallFailed(retry_at=None):
                    connection.execute("DELETE FROM embeddings WHERE stream = ?", (recorded.stream,))
                case _:
                    pass

    def _take(self, connection: Connection, stream: str) -> None:
        lines = (self._large_results(vectors_of(stream)) or "").split("\n")
        vectors = [(at, b64decode(line)) for at, line in enumerate(lines) if line]
        connection.executemany(
            "UPDATE embeddings SET signs = ?, vector = ? WHERE stream = ? AND place = ?",
            [(signs(vector), vector, stream, at) for at, vector in vectors],
        )
        connection.execute("DELETE FROM embeddings WHERE stream = ? AND vector IS NULL", (stream,))


def select_missing(rows: Connection, model: str, digests: Iterable[str]) -> frozenset[str]:
    """The digests without an existing or planned vector of the model."""
    query = """
        SELECT value FROM json_each(?)
        WHERE NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.model = ? AND e.digest = value)
    """
    return frozenset(digest for (digest,) in rows.execute(query, (_json(digests), model)))


def select_exchanges_without(
    rows: Connection, model: str, *, before: str, limit: int
) -> tuple[Exchange, ...]:
    """Exchanges of people that have no vector of the model, oldest first; open ones if there was no message
    since `before` (ISO 8601, UTC)."""
    query = f"""
        SELECT lineage, digest, positions, chars FROM exchanges x
        WHERE NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.model = ? AND e.digest = x.digest)
            AND lineage IN {LINEAGES}
            AND (at < ? OR EXISTS (
                SELECT 1 FROM exchanges n WHERE n.lineage = x.lineage AND n.exchange > x.exchange))
        GROUP BY digest ORDER BY min(exchange) LIMIT ?
    """
    selected = rows.execute(query, (model, before, limit))
    return tuple(_exchange(*row) for row in selected)


def select_exchanges(rows: Connection, digests: Iterable[str]) -> Mapping[str, Exchange]:
    """The exchanges with these digests."""
    query = """
        SELECT lineage, digest, positions, chars FROM exchanges
        WHERE digest IN (SELECT value FROM json_each(?))
    """
    return {
        exchange.digest: exchange
        for exchange in (_exchange(*row) for row in rows.execute(query, (_json(digests),)))
    }


def _exchange(lineage: str, digest: str, positions: str, chars: int) -> Exchange:
    return Exchange(stream_of(lineage), digest, positions_of(positions), chars)


def select_embedding_counts(rows: Connection, model: str) -> EmbeddingCounts:
    """The numbers of existing and planned vectors of the model."""
    query = "SELECT count(vector), count(*) FROM embeddings WHERE model = ?"
    there, planned = rows.execute(query, (model,)).fetchone()
    return EmbeddingCounts(there, planned - there)


def nearest_texts(
    rows: Connection, model: str, vector: bytes, digests: Collection[str], most: int
) -> tuple[NearVector, ...]:
    """The digests with the nearest vectors, best first."""
    query = """
        SELECT number, digest, signs FROM embeddings
        WHERE model = ? AND signs IS NOT NULL AND digest IN (SELECT value FROM json_each(?))
    """
    return _nearest(rows, rows.execute(query, (model, _json(digests))).fetchall(), vector, most)


def nearest_exchanges(
    rows: Connection, model: str, vector: bytes, outside: str, most: int
) -> tuple[NearVector, ...]:
    """The users' exchanges with the nearest vectors, best first; none of the lineage `outside`, its ancestors
    or its sub-agents."""
    query = f"""
        SELECT number, digest, signs FROM embeddings e
        WHERE model = ? AND signs IS NOT NULL AND EXISTS (
            SELECT 1 FROM exchanges x WHERE x.digest = e.digest
                AND x.lineage IN {LINEAGES} AND x.lineage NOT IN ({CHAIN}))
    """
    return _nearest(rows, rows.execute(query, (model, outside)).fetchall(), vector, most)


def _nearest(
    rows: Connection, candidates: Sequence[tuple[int, str, bytes]], vector: bytes, most: int
) -> tuple[NearVector, ...]:
    digests = {number: digest for number, digest, _ in candidates}

    def vectors(numbers: Sequence[int]) -> Mapping[int, bytes]:
        query = "SELECT number, vector FROM embeddings WHERE number IN (SELECT value FROM json_each(?))"
        return dict(rows.execute(query, (_json(numbers),)).fetchall())

    neighbours = nearest(vector, [(number, bits) for number, _, bits in candidates], vectors, most)
    return tuple(NearVector(digests[number], cosine) for number, cosine in neighbours)


def _json(values: Iterable[object]) -> str:
    return msgspec.json.encode(list(values)).decode()
