"""Search by meaning in the texts of the views: a `VectorSearch`."""

from __future__ import annotations

from collections.abc import Collection
from sqlite3 import Connection

from hermes_jobs.features.recall.tables.embeddings import (
    nearest_exchanges,
    nearest_texts,
    select_embedding_counts,
    select_exchanges,
)
from hermes_jobs.features.search.tables.candidates import IndexedMessages
from hermes_jobs.features.search.tables.hit_context import passages_at
from hermes_jobs.features.search.tables.message_search import within
from hermes_jobs.kernel.engine.ports.conversation_search import Passage, Scope
from hermes_jobs.kernel.views.views import Views


class VectorIndex:
    """The vectors of one log. Safe for many threads. Every method raises `LogUnavailable`."""

    def __init__(self, views: Views) -> None:
        self._views = views

    def has_vectors(self, model: str) -> bool:
        """See `VectorSearch`."""
        return self._views.read(select_embedding_counts, model).there > 0

    def nearest_texts(
        self, model: str, vector: bytes, digests: Collection[str], *, least: float, limit: int
    ) -> tuple[str, ...]:
        """See `VectorSearch`."""
        neighbours = self._views.read(nearest_texts, model, vector, digests, limit)
        return tuple(neighbour.digest for neighbour in neighbours if neighbour.cosine >= least)

    def nearest_passages(
        self, model: str, vector: bytes, *, outside: str, least: float, limit: int
    ) -> tuple[Passage, ...]:
        """See `VectorSearch`."""
        scope = Scope(outside=outside)

        def query(rows: Connection) -> tuple[Passage, ...]:
            own = within(rows, scope).outside or ""
            near = nearest_exchanges(rows, model, vector, own, limit)
            digests = [neighbour.digest for neighbour in near if neighbour.cosine >= least]
            exchanges = select_exchanges(rows, digests)
            firsts = [exchanges[digest].positions[0] for digest in digests]
            return passages_at(IndexedMessages(rows, self._views.texts_at), firsts, self._views.result)

        return self._views.read(query)
