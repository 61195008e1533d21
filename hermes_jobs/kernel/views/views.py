"""`Views`: all queries of the read models, each current with the log when it runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from sqlite3 import Connection
from typing import Concatenate, ParamSpec, TypeVar

from hermes_jobs.errors import NewerSchema, Rejected
from hermes_jobs.kernel.engine.ports.conversation_search import (
    TranscriptMessage,
)
from hermes_jobs.kernel.feature import parts
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.views import id_lookup, queries
from hermes_jobs.kernel.views.approval_rules import ApprovalRuleTexts
from hermes_jobs.kernel.views.children import Children
from hermes_jobs.kernel.views.counts import select_counts
from hermes_jobs.kernel.views.message_texts import DocumentTexts, no_documents, texts_of
from hermes_jobs.kernel.views.messages import Messages
from hermes_jobs.kernel.views.models import MessageView, StatusFilter, TurnView, ViewsStatus
from hermes_jobs.kernel.views.projection import Projection, ViewSources
from hermes_jobs.kernel.views.queue_waits import Waits
from hermes_jobs.kernel.views.sessions import Sessions
from hermes_jobs.kernel.views.status import select_status
from hermes_jobs.kernel.views.steps import Steps
from hermes_jobs.kernel.views.store import OnProgress, Progress, Store
from hermes_jobs.kernel.views.tree import Tree, select_tree, select_used_below
from hermes_jobs.kernel.views.turns import Turns

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

PROJECTIONS: tuple[Projection, ...] = (Sessions(), Children(), Steps(), Waits(), ApprovalRuleTexts())


def _finish(rows: Connection) -> None:
    for built in parts("built"):
        built(rows)


def _answering(select: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate[Views, P], T]:
    """The method of `Views` that answers with that query: see there for arguments and errors."""

    def answer(self: Views, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.read(select, *args, **kwargs)

    answer.__doc__ = select.__doc__
    return answer


class Views:
    """The read models of one log, stored in one folder. Safe for many threads and processes.

    Every method raises `LogUnavailable` where the log or the folder cannot be read or written.
    """

    def __init__(
        self,
        log: EventLog,
        folder: Path,
        notify: Callable[[str], None] = logger.warning,
        documents: DocumentTexts = no_documents,
        progress: OnProgress = lambda position, last: None,
    ) -> None:
        """`notify` and `progress` are `Store`'s; `documents` are those that a search finds."""
        self._log = log
        self._texts = texts_of(log)
        self._searched = texts_of(log, documents)
        sources = ViewSources(log.result, self._texts, documents)
        of_features = chain.from_iterable(tables(sources) for tables in parts("tables"))
        projections = (*PROJECTIONS, Messages(self._texts), Turns(self._texts), *of_features)
        self._store = Store(log, folder, projections, _finish, notify, progress)

    def read(self, select: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The answer of that query, with these arguments."""
        return self._store.read(lambda rows: select(rows, *args, **kwargs))

    # --- turns ------------------------------------------------------------------------------------

    def turns(
        self,
        *,
        session: str | None = None,
        status: StatusFilter | None = None,
        label: str | None = None,
        since: str | None = None,
        hidden: bool = False,
        limit: int = 20,
    ) -> tuple[TurnView, ...]:
        """Turns without their steps, newest first; see `TurnFilter`.

        `session` is the id of any session of a lineage, all of whose turns count.
        """
        lineage = self.session(session).lineage if session is not None else None
        wanted = queries.TurnFilter(status=status, label=label, since=since, hidden=hidden)
        return self._store.read(lambda rows: queries.select_turns(rows, self._texts, lineage, wanted, limit))

    def turn(self, turn: str) -> TurnView:
        """A turn with its steps, by its whole id. Raises `Rejected`, kind `unknown_turn`; `NewerSchema`."""
        return self._named(lambda rows: queries.select_turn(rows, self._texts, turn))

    def tree(self, turn: str) -> Tree:
        """The whole tree of sub-agents that a turn belongs to, from its root; a turn of its own is one alone.

        Raises `Rejected`, kind `unknown_turn`; `NewerSchema`.
        """
        return self._named(lambda rows: select_tree(rows, self._texts, turn))

    def tree_below(self, turn: str) -> Tree:
        """That turn with all below it. Raises what `tree` does."""
        tree = self.tree(turn)
        return tree.find(turn) or tree

    used_below = _answering(select_used_below)

    def find_turn(self, name: str, *, session: str | None = None) -> str:
        """The id that a unique prefix means, or `last` and `last~N`: those of that session, else of all.

        Raises `Rejected`, kind `ambiguous` or `unknown_turn`.
        `NewerSchema` where it may stand behind an event that only a newer hermes-jobs can read.
        """
        lineage = self.session(session).lineage if session is not None else None
        return self._named(lambda rows: id_lookup.find_turn(rows, name, within=lineage))

    # --- sessions ---------------------------------------------------------------------------------

    sessions = _answering(queries.select_sessions)
    newest_conversation = _answering(queries.select_newest_conversation)
    session = _answering(queries.select_session)

    def find_session(self, name: str) -> str:
        """The id of the lineage's tip that an id, a unique prefix or a title means.

        Raises `Rejected`, kind `ambiguous` or `unknown_session`. `session(…).stream` has the stream.
        """
        return self._store.read(
            lambda rows: queries.select_session(rows, id_lookup.find_session(rows, name)).id
        )

    def messages(self, session: str) -> tuple[MessageView, ...]:
        """The messages of that session's lineage, in the order in which the model received them."""
        return self._store.read(
            lambda rows: queries.select_messages(
                rows, self._texts, queries.select_session(rows, session).lineage
            )
        )

    def transcript(self, session: str) -> tuple[TranscriptMessage, ...]:
        """The texts of that session's lineage, in order."""
        messages = self.messages(session)
        return tuple(
            TranscriptMessage(
                role=message.role, content=message.content, name=message.name, arguments=message.arguments
            )
            for message in messages
        )

    # --- for queries of features ------------------------------------------------------------------

    def result(self, call: str) -> str | None:
        """A large result, whole; see `EventLog.result`."""
        return self._log.result(call)

    def texts_at(self, positions: Iterable[int]) -> Mapping[int, str]:
        """The texts of the messages at these positions of the log."""
        return self._texts(positions)

    def searched_at(self, positions: Iterable[int]) -> Mapping[int, str]:
        """The same, each with the names and the texts of what is attached to it."""
        return self._searched(positions)

    counts = _answering(select_counts)

    # --- schedules --------------------------------------------------------------------------------

    find_schedule = _answering(id_lookup.find_schedule)

    # --- the files --------------------------------------------------------------------------------

    def delete_old(self) -> None:
        """Delete what earlier rows left in the folder: they may hold texts that were removed since."""
        self._store.delete_old()

    def catch_up(self) -> Progress:
        """Apply the log's new events; each read does this, too."""
        return self._store.catch_up()

    def rebuild(self) -> None:
        """Replay the log into new files while readers use the old ones."""
        self._store.rebuild()

    def status(self) -> ViewsStatus:
        """The files as they are, before anything is caught up with."""
        return select_status(self._log, self._store)

    def close(self) -> None:
        """Release the connections of all threads."""
        self._store.close()

    def _named(self, query: Callable[[Connection], T]) -> T:
        """Run the query. Raises `NewerSchema` for a `Rejected` if the rows cannot follow the log."""
        try:
            return self._store.read(query)
        except Rejected as unknown:
            if stopped := self._store.stopped():
                raise NewerSchema(stopped) from unknown
            raise
