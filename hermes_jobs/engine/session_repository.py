"""Sessions, folded from the log and kept while they are in use."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hermes_jobs.domain.events import SessionEvent, SessionStarted
from hermes_jobs.domain.session.evolve import fold
from hermes_jobs.domain.session.session import Session, fork_of, stream_of
from hermes_jobs.engine.state_cache import StateCache
from hermes_jobs.eventlog.log import EventLog

BATCH = 500  # events that are held at once


class SessionRepository:
    """Folds streams, only ever reading what is new. Keeps the `size` most recently used. Thread-safe."""

    def __init__(self, log: EventLog, size: int = 256) -> None:
        self._log = log
        self._kept = StateCache[Session](size)

    def load(self, stream: str) -> Session:
        """The session as the log has it at this moment; version 0 where the stream does not exist."""
        session = self._folded(self.known(stream) or Session(stream=stream))
        self.keep(session)
        return session

    def known(self, stream: str) -> Session | None:
        """The session as this process last saw it, without a look at the log."""
        return self._kept.get(stream)

    def load_at(self, stream: str, version: int) -> Session:
        """The session as it was at that version of its stream."""
        known = self.known(stream)
        before = known if known is not None and known.version <= version else Session(stream=stream)
        return self._folded(before, version)

    def fold(self, session: Session, facts: Sequence[SessionEvent]) -> Session:
        """The session after those facts; a fork begins with what its parent had said by then."""
        started = facts[0] if facts and session.version == 0 else None
        if isinstance(started, SessionStarted) and started.parent is not None and started.at is not None:
            session = fork_of(self.load_at(stream_of(started.parent), started.at), session.stream)
        return fold(session, facts)

    def _folded(self, session: Session, version: int = sys.maxsize) -> Session:
        """The session after what the log has of it up to that version, of which little is held at a time."""
        while True:
            upto = min(session.version + BATCH, version)
            news = self._log.read(session.stream, after=session.version, upto=upto)
            # A session's stream holds nothing but a session's facts.
            session = self.fold(session, [recorded.event for recorded in news])  # type: ignore[misc]
            if len(news) < BATCH:
                return session

    def forget(self, stream: str) -> None:
        """Fold the stream from its beginning the next time."""
        self._kept.forget(stream)

    def keep(self, session: Session) -> None:
        """Remember a session that was just folded, unless a newer one is known."""
        self._kept.put(session)
