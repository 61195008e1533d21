"""What is remembered of models' windows, as the log has it."""

from __future__ import annotations

from hermes_jobs.domain.errors import HermesJobsError
from hermes_jobs.domain.windows import STREAM, LearnedWindows, evolve
from hermes_jobs.engine.ports import Clock
from hermes_jobs.eventlog.log import EventLog

FRESH = 1.0  # seconds


class RecalledWindows:
    """Folds the stream `windows`, only ever reading what is new. Safe for many threads.

    Every model call asks for its window several times, and windows are learned once in a model's life: what
    was read within the last `FRESH` seconds is not read again.
    """

    def __init__(self, log: EventLog, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._known = LearnedWindows()
        self._read_at = float("-inf")

    def __call__(self) -> LearnedWindows:
        """As the log has them; as they were last known where it cannot be read: that is no time to fail."""
        known, now = self._known, self._clock.monotonic()
        if now - self._read_at < FRESH:
            return known
        try:
            news = self._log.read(STREAM, after=known.version)
        except HermesJobsError:
            return known
        for recorded in news:
            known = evolve(known, recorded.event)  # type: ignore[arg-type]  # nothing else is in that stream
        if known.version >= self._known.version:
            self._known, self._read_at = known, now
        return known
