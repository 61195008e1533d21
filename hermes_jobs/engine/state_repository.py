"""The states of all streams, folded from the log and kept while they are in use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from hermes_jobs.domain.events import Event, SessionEvent
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.streams import SESSIONS, StreamState, fold, initial_state
from hermes_jobs.engine.session_repository import SessionRepository
from hermes_jobs.engine.state_cache import StateCache
from hermes_jobs.eventlog.log import EventLog

MOST = 256  # streams whose states are kept


class StateRepository:
    """Folds streams, only ever reading what is new. `SessionRepository` has the sessions. Thread-safe."""

    def __init__(self, log: EventLog, sessions: SessionRepository) -> None:
        self._log = log
        self._sessions = sessions
        self._kept = StateCache[StreamState](MOST)

    def load(self, stream: str) -> StreamState:
        """The stream's state as the log has it at this moment."""
        if stream.startswith(SESSIONS):
            return self._sessions.load(stream)
        state = self._kept.get(stream) or initial_state(stream)
        state = fold(state, [recorded.event for recorded in self._log.read(stream, after=state.version)])
        self.keep(state)
        return state

    def fold(self, state: StreamState, facts: Sequence[Event]) -> StreamState:
        """The state after those facts; a session that goes on from another begins with what that one held."""
        if isinstance(state, Session):
            return self._sessions.fold(state, cast(Sequence[SessionEvent], facts))
        return fold(state, facts)

    def forget(self, stream: str) -> None:
        """Fold the stream from its beginning the next time."""
        self._sessions.forget(stream)
        self._kept.forget(stream)

    def keep(self, state: StreamState) -> None:
        """Remember a state that was just folded, unless a newer one is known."""
        if isinstance(state, Session):
            self._sessions.keep(state)
        else:
            self._kept.put(state)
