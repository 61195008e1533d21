"""Ends background processes with the session or the turn that started them, and undoes what they must not
leave behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.session import lineage_of
from hermes_jobs.system.clock import Clock

if TYPE_CHECKING:
    from hermes_jobs.tools.background import BackgroundProcesses

POLL_SECONDS = 5.0
"""Seconds between checks of all processes."""


class ProcessEndings:
    """Ends the processes of a home. `folder` is theirs: where it is missing, there never was one."""

    def __init__(self, folder: Path, processes: Callable[[], BackgroundProcesses], clock: Clock) -> None:
        self._folder = folder
        self._processes = processes
        self._clock = clock
        self._looked_at = float("-inf")

    def follow(self, events: Sequence[Event], lineage: str) -> None:
        """Stop the processes whose session or turn has ended with these events."""
        ended = [
            event for event in events if isinstance(event, e.SessionEnded) and event.reason != "compression"
        ]
        turns = {event.turn for event in events if isinstance(event, e.TurnEnd)}
        if not (ended or turns) or not self._folder.is_dir():
            return
        self._processes().kill_where(
            lambda process: (
                (process.life == "session" and bool(ended) and process.session == lineage)
                or (process.life == "turn" and process.turn in turns)
            ),
            wait=False,
        )
        for process in self._processes().running(session=lineage):
            self._processes().check_guards((process.record.workdir,))

    def add(self, news: Sequence[RecordedEvent]) -> None:
        """A worker's periodic check, from its start on: stops processes whose session or turn ended
        elsewhere, and processes without their keeper, and undoes what commands of killed workers have
        left."""
        for recorded in news:
            self.follow((recorded.event,), lineage_of(recorded.stream))
        now = self._clock.monotonic()
        if now - self._looked_at < POLL_SECONDS:
            return
        self._looked_at = now
        if self._folder.is_dir():
            self._processes().all()
        if (self._folder.parent / "guards").is_dir():
            self._processes().check_guards()
