"""The state of a small stream that is asked for often and rarely changes."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

from hermes_jobs.domain.streams import fold, initial_state
from hermes_jobs.engine.ports import Clock
from hermes_jobs.errors import HermesJobsError
from hermes_jobs.eventlog.log import EventLog

FRESH = 1.0  # seconds

S = TypeVar("S")


class RecentState(Generic[S]):
    """Folds one stream, only ever reading what is new. Safe for many threads.

    Every model call asks several times, and such a stream changes a few times in a model's life: what was
    read within the last `FRESH` seconds is not read again.
    """

    def __init__(self, log: EventLog, clock: Clock, stream: str) -> None:
        self._log = log
        self._clock = clock
        self._stream = stream
        self._known: Any = initial_state(stream)
        self._read_at = float("-inf")

    def __call__(self) -> S:
        """As the log has it; as it was last known where the log cannot be read: that is no time to fail."""
        known, now = self._known, self._clock.monotonic()
        if now - self._read_at < FRESH:
            return cast(S, known)
        try:
            news = self._log.read(self._stream, after=known.version)
        except HermesJobsError:
            return cast(S, known)
        known = fold(known, (recorded.event for recorded in news))
        if known.version >= self._known.version:
            self._known, self._read_at = known, now
        return cast(S, known)

    def forget(self) -> None:
        """Read again at the next time: this process has just written to the stream."""
        self._read_at = float("-inf")
