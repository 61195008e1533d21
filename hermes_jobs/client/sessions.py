"""The sessions of a home, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_jobs.errors import Rejected
from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.features.titles.api import rename_session
from hermes_jobs.kernel.engine.fork import fork, fork_at_turn, last_begun, undo
from hermes_jobs.kernel.engine.ports.conversation_search import SearchHit
from hermes_jobs.kernel.events import ContextPrefetched
from hermes_jobs.kernel.turns.commands import EndSession
from hermes_jobs.kernel.views.models import MessageView
from hermes_jobs.kernel.views.session_json import SessionJson, session_json

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


class Undone(NamedTuple):
    """The session that goes on from before a turn, and the text that was taken back."""

    session: SessionJson
    text: str


class Sessions:
    """The sessions of a home. `session` is an id, a title, the unique beginning of either, or `last`."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def list(self, *, limit: int = 20, hidden: bool = False) -> tuple[SessionJson, ...]:
        """The sessions, the last used first; `hidden`: also those of reviews and sub-agents."""
        found = self._application.views.sessions(hidden=hidden, limit=limit)
        return tuple(map(session_json, found))

    def get(self, session: str) -> SessionJson:
        """A session. Raises `Rejected`."""
        views = self._application.views
        return session_json(views.session(views.find_session(session)))

    def messages(self, session: str) -> tuple[MessageView, ...]:
        """The messages of a session, oldest first."""
        views = self._application.views
        return views.messages(views.find_session(session))

    def search(self, query: str, *, limit: int = 20) -> tuple[SearchHit, ...]:
        """Messages of all sessions with these words, best first."""
        return Conversations(self._application.views).search(query, limit=limit)

    def rename(self, session: str, title: str) -> SessionJson:
        """Change a session's title. Raises `Rejected` for an empty one."""
        found = self.get(session)
        rename_session(self._application.engine(), found.lineage, title)
        return self.get(found.session)

    def fork(self, session: str, *, at: str | None = None, before: str | None = None) -> SessionJson:
        """Start a new session with the history of another one: the whole, or that up to `at`, a turn or the
        number of an event, or that `before` a turn.

        Raises `Rejected` for both, and for other turns and events.
        """
        if at is not None and before is not None:
            raise Rejected("--at and --before exclude each other.", kind="usage")
        if before is not None and before.isdecimal():
            hint = "Turns are named by their ids: hermes-jobs turns list."
            raise Rejected(f"{before} is not a turn.", kind="usage", hint=hint)
        engine, views = self._application.engine(), self._application.views
        parent = views.session(views.find_session(session))
        new, turn_named = self._application.ids.name("s"), at or before
        if turn_named is None or turn_named.isdecimal():
            fork(engine, parent.lineage, new, at=None if turn_named is None else int(turn_named))
        else:
            turn = views.turn(views.find_turn(turn_named, session=parent.id))
            fork_at_turn(engine, parent.lineage, new, turn.id, stream=turn.stream, before=before is not None)
        return self.get(new)

    def last_turn(self, session: str) -> str:
        """The id of the turn that `undo` takes back. Raises `Rejected` as it does."""
        begun = last_begun(self._application.engine(), self.get(session).lineage).event
        assert isinstance(begun, ContextPrefetched), begun
        return begun.turn

    def undo(self, session: str) -> Undone:
        """Continue a session from before its last turn, in a copy; the original keeps its events.

        Raises `Rejected` while a turn runs or waits in it, and where nothing was said.
        """
        new = self._application.ids.name("s")
        text = undo(self._application.engine(), self.get(session).lineage, new)
        return Undone(session=self.get(new), text=text)

    def end(self, session: str) -> SessionJson:
        """End a session: it takes no more turns; nothing is deleted."""
        views = self._application.views
        view = views.session(views.find_session(session))
        self._application.engine().execute(view.stream, EndSession())
        return self.get(view.id)
