"""Search in all conversations of the views: a `ConversationSearch`."""

from __future__ import annotations

from sqlite3 import Connection

from hermes_jobs.features.search.tables.candidates import IndexedMessages
from hermes_jobs.features.search.tables.hit_context import passages
from hermes_jobs.features.search.tables.message_search import count_messages, search, select_recent, within
from hermes_jobs.kernel.engine.ports.conversation_search import (
    EVERYWHERE,
    Passage,
    Scope,
    SearchHit,
    SessionSummary,
    TranscriptMessage,
)
from hermes_jobs.kernel.views.views import Views


class Conversations:
    """The conversations of one log. Safe for many threads. Every method raises `LogUnavailable`."""

    def __init__(self, views: Views) -> None:
        self._views = views

    def search(self, query: str, *, scope: Scope = EVERYWHERE, limit: int = 20) -> tuple[SearchHit, ...]:
        """The messages that match the query best (see `hermes_jobs.text.search.query`).

        The hits of a lineage are grouped, each lineage's best before any second one. No query raises.
        """

        def read(rows: Connection) -> tuple[SearchHit, ...]:
            index = IndexedMessages(rows, self._views.searched_at)
            return search(index, query, within(rows, scope), limit, self._views.result)

        return self._views.read(read)

    def passages(
        self, query: str, *, scope: Scope = EVERYWHERE, limit: int = 10, least: float = 0.0
    ) -> tuple[Passage, ...]:
        """See `ConversationSearch`."""

        def read(rows: Connection) -> tuple[Passage, ...]:
            index = IndexedMessages(rows, self._views.texts_at)
            return passages(index, query, within(rows, scope), limit, self._views.result, least)

        return self._views.read(read)

    def searched(self, scope: Scope = EVERYWHERE) -> int:
        """The approximate number of messages that a search there covers."""
        return self._views.read(lambda rows: count_messages(rows, within(rows, scope)))

    def recent(self, *, scope: Scope = EVERYWHERE, limit: int = 20) -> tuple[SessionSummary, ...]:
        """Lineages within the scope's kinds and source, the last used first."""
        return self._views.read(lambda rows: select_recent(rows, within(rows, scope), limit))

    def transcript(self, session: str) -> tuple[TranscriptMessage, ...]:
        """See `Views.transcript`."""
        return self._views.transcript(session)
