"""The states of streams, folded from the log: a cache of those used last, the recent state of a small stream
that is needed often, and the replay of a session's events."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.kernel.engine.state_cache import StateCache
from hermes_jobs.kernel.events import Event, SessionEvent, SessionStarted
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.streams.streams import fold, initial_state
from hermes_jobs.kernel.turns.session import Session, fork_of, stream_of
from hermes_jobs.system.clock import Clock

BATCH = 500  # events in memory at once
PAST = 64  # earlier states of sessions in the cache


class StreamRepository:
    """Folds streams, reading only new events. Caches the `size` streams used last, fewer if they are large.
    Thread-safe."""

    def __init__(self, log: EventLog, size: int = 512) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._states = StateCache(size)
        self._past: OrderedDict[tuple[str, int], Session] = OrderedDict()
        self._forgotten = log.forgotten

    def state(self, stream: str) -> StreamState:
        """The stream's current state; version 0 where it has no events. Raises `Corrupt`,
        `LogUnavailable`."""
        state = self._folded(self._cached(stream) or initial_state(stream))
        self.put(state)
        return state

    def load(self, stream: str) -> Session:
        """The session's current state. Raises what `state` does."""
        return cast(Session, self.state(stream))

    def cached(self, stream: str) -> Session | None:
        """The cached session, without reading the log; None if it is not cached."""
        return cast("Session | None", self._cached(stream))

    def load_at(self, stream: str, version: int) -> Session:
        """The session at that version of its stream, folded from the nearest cached state before it.
        Raises what `state` does."""
        if self._log.forgotten != self._forgotten:
            self.forget_all()
        with self._lock:
            past = [each for (name, at), each in self._past.items() if name == stream and at <= version]
        cached = self.cached(stream)
        if cached is not None and cached.version <= version:
            past.append(cached)
        before = max(past, key=lambda state: state.version, default=Session(stream=stream))
        if before.version == version:
            return before
        session = cast(Session, self._folded(before, version))
        with self._lock:
            self._past[stream, session.version] = session
            while len(self._past) > PAST:
                self._past.popitem(last=False)
        return session

    def fold(self, state: StreamState, events: Sequence[Event]) -> StreamState:
        """The state after those events; a fork begins with its parent's history. Raises what `state` does."""
        started = events[0] if events and state.version == 0 else None
        if isinstance(started, SessionStarted) and started.parent is not None and started.at is not None:
            state = fork_of(self.load_at(stream_of(started.parent), started.at), state.stream)
        return fold(state, events)

    def forget(self, stream: str) -> None:
        """Drop the stream from the cache; the next read folds it from its beginning."""
        with self._lock:
            self._states.forget(stream)
            for key in [key for key in self._past if key[0] == stream]:
                del self._past[key]

    def forget_all(self) -> None:
        """Drop all streams from the cache: texts were removed from the log."""
        with self._lock:
            self._forgotten = self._log.forgotten
            self._states.clear()
            self._past.clear()

    def put(self, state: StreamState) -> None:
        """Cache a state that was just folded, unless a newer one is cached."""
        with self._lock:
            self._states.put(state)

    def follow(self, recorded: RecordedEvent) -> None:
        """Fold an event that was just read into the cached state of its stream, if it comes next."""
        state = self._cached(recorded.stream)
        if state is not None and state.version + 1 == recorded.version:
            self.put(self.fold(state, (recorded.event,)))

    def _cached(self, stream: str) -> StreamState | None:
        with self._lock:
            return self._states.get(stream)

    def _folded(self, state: StreamState, version: int = sys.maxsize) -> StreamState:
        """The state after the stream's events up to that version, read in batches.

        If texts were removed since the states were cached, it is folded from the beginning.
        """
        while True:
            upto = min(state.version + BATCH, version)
            news = self._log.read(state.stream, after=state.version, upto=upto)
            if self._log.forgotten != self._forgotten:
                self.forget_all()
                state = initial_state(state.stream)
                continue
            state = self.fold(state, [recorded.event for recorded in news])
            if len(news) < BATCH:
                return state


FRESH = 1.0  # seconds

S = TypeVar("S")


class RecentState(Generic[S]):
    """Folds one stream, reading only new events. Safe for many threads.

    Every model call needs the state several times, and such a stream rarely changes: the log is read at most
    once in `FRESH` seconds.
    """

    def __init__(self, log: EventLog, clock: Clock, stream: str) -> None:
        self._log = log
        self._clock = clock
        self._stream = stream
        self._state: Any = initial_state(stream)
        self._read_at = float("-inf")

    def __call__(self) -> S:
        """The state in the log; the last one read if the log is unavailable."""
        state, now = self._state, self._clock.monotonic()
        if now - self._read_at < FRESH:
            return cast(S, state)
        try:
            news = self._log.read(self._stream, after=state.version)
        except HermesJobsError:
            return cast(S, state)
        state = fold(state, (recorded.event for recorded in news))
        if state.version >= self._state.version:
            self._state, self._read_at = state, now
        return cast(S, state)

    def forget(self) -> None:
        """Read the log at the next call: this process has just written to the stream."""
        self._read_at = float("-inf")


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
        self._sessions.put(session)
