"""Replaying a session's events, each with the session before and after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, cast

from hermes_jobs.domain.events import SessionEvent
from hermes_jobs.domain.session.session import Session
from hermes_jobs.engine.repository import BATCH, StreamRepository
from hermes_jobs.eventlog.log import EventLog


class ReplayedEvent(NamedTuple):
    """One event of a session, with the session before and after it."""

    before: Session
    event: SessionEvent
    after: Session


EventsOf = Callable[[str, int, int], Iterable[ReplayedEvent]]
"""The events of a stream after one version, up to another."""


class EventReplay:
    """The `EventsOf` of a log. Continues from a cache instead of reading events twice. Thread-safe."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._sessions = StreamRepository(log, size=64)

    def __call__(self, stream: str, after: int, upto: int) -> Iterator[ReplayedEvent]:
        """The events after version `after`, up to version `upto`. Raises `LogUnavailable`."""
        if after >= upto:
            return
        session = self._sessions.load_at(stream, after)
        while session.version < upto:
            news = self._log.read(stream, after=session.version, upto=min(session.version + BATCH, upto))
            for recorded in news:
                before = session
                event = cast(SessionEvent, recorded.event)
                session = cast(Session, self._sessions.fold(before, (event,)))
                yield ReplayedEvent(before, event, session)
            if not news:
                break
        self._sessions.keep(session)
