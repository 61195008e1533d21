"""A session's facts once more, each with the session as it was before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from hermes_jobs.domain.events import SessionEvent
from hermes_jobs.domain.session.session import Session
from hermes_jobs.engine.session_repository import BATCH, SessionRepository
from hermes_jobs.eventlog.log import EventLog


class ReplayedEvent(NamedTuple):
    """One fact of a session."""

    before: Session
    fact: SessionEvent
    after: Session


Facts = Callable[[str, int, int], Iterable[ReplayedEvent]]
"""The facts of a stream behind one version, up to another."""


class EventReplay:
    """The `Facts` of a log. Goes on where it left off without reading anything twice. Thread-safe."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._sessions = SessionRepository(log, size=64)

    def __call__(self, stream: str, after: int, upto: int) -> Iterator[ReplayedEvent]:
        """The facts behind version `after`, up to version `upto`."""
        if after >= upto:
            return
        session = self._sessions.load_at(stream, after)
        while session.version < upto:
            news = self._log.read(stream, after=session.version, upto=min(session.version + BATCH, upto))
            for recorded in news:
                before = session
                # A session's stream holds nothing but a session's facts.
                fact: SessionEvent = recorded.event  # type: ignore[assignment]
                session = self._sessions.fold(before, (fact,))
                yield ReplayedEvent(before, fact, session)
            if not news:
                break
        self._sessions.keep(session)
