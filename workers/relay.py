"""The relay: sends what is due and what nobody has claimed, whoever forgot or lost its message.

Every worker carries one and the elected one acts. Two that act at once only wake twice, which is harmless.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from hermes_jobs.domain.steps import Lane, Step
from hermes_jobs.engine.ports import Clock
from hermes_jobs.eventlog.log import EventLog, WorkerRow

PATIENCE = 1.0  # seconds for a message to be claimed before it is sent again
LONGEST = 30.0  # seconds between two messages for the same step
FEW = 4  # streams; for more than that, one look at all due steps costs less than one at each
MOST_AT_ONCE = 32  # steps sent again at one look, the oldest: a backlog is no sign of lost messages


class Sender(Protocol):
    """Sends messages; each method says whether the broker took them."""

    def send(self, steps: Sequence[Step]) -> bool:
        """Send steps for which there was no message yet."""

    def send_again(self, steps: Sequence[Step]) -> bool:
        """Send steps whose first message may be lost."""


class _Seen(msgspec.Struct):
    """A due step, in monotonic seconds: seen first, to be sent next, and the wait after that."""

    since: float
    at: float
    wait: float = PATIENCE


class _Progress(msgspec.Struct):
    """How a lane's steps get claimed: when that was last seen, and since when the latest had been due."""

    at: float
    reached: float = float("-inf")


class Relay:
    """Remembers what it has seen due, and for how long."""

    def __init__(self, log: EventLog, clock: Clock, sender: Sender) -> None:
        self._log = log
        self._clock = clock
        self._sender = sender
        self._seen: dict[Step, _Seen] = {}
        self._lanes: dict[Lane, _Progress] = {}

    def send_at_once(self, streams: Collection[str]) -> int:
        """Send what is due in streams that were written to by somebody who sends nothing; how many steps."""
        now = self._clock.monotonic()
        unsent = [step for step in self._due_in(streams) if step not in self._seen]
        if not unsent or not self._sender.send(unsent):
            return 0
        for step in unsent:
            self._seen[step] = _Seen(since=now, at=now + PATIENCE, wait=2 * PATIENCE)
        return len(unsent)

    def look(self) -> int:
        """Send everything else that has to be sent by now; how many steps.

        Timers that ran out at once. Others when they were not claimed for a second, then at twice the
        interval up to half a minute; but not while the lane is merely busy: its steps are being claimed, and
        none that became due later.
        """
        now = self._clock.monotonic()
        due = [row.step for row in self._log.due(self._clock.now())]
        self._remember(due, now)
        late = [step for step in due if self._is_late(step, now)][:MOST_AT_ONCE]
        if not late or not self._sender.send_again(late):
            return 0
        for step in late:
            seen = self._seen[step]
            seen.at, seen.wait = now + seen.wait, min(seen.wait * 2, LONGEST)
        return len(late)

    def _due_in(self, streams: Collection[str]) -> list[Step]:
        now = self._clock.now()
        if len(streams) > FEW:
            return [row.step for row in self._log.due(now) if row.step.stream in streams]
        return [row.step for stream in streams for row in self._log.due(now, stream=stream)]

    def _remember(self, due: Sequence[Step], now: float) -> None:
        for step in self._seen.keys() - set(due):
            progress = self._lanes.setdefault(step.lane, _Progress(now))
            progress.at = now
            progress.reached = max(progress.reached, self._seen[step].since)
        self._seen = {step: self._seen.get(step) or _first(step, now) for step in due}

    def _is_late(self, step: Step, now: float) -> bool:
        seen = self._seen[step]
        if seen.at > now:
            return False
        progress = self._lanes.get(step.lane)
        return progress is None or now - progress.at >= PATIENCE or progress.reached > seen.since


def _first(step: Step, now: float) -> _Seen:
    """A timer that ran out has no message on its way; anything else gets the time to be claimed."""
    return _Seen(since=now, at=now if step.not_before > 0 else now + PATIENCE)


def is_elected(worker: str, alive: Sequence[WorkerRow]) -> bool:
    """Whether this worker's relay acts: it is the first by id among those that consume queues."""
    return worker == min((each.id for each in alive if each.lanes), default=None)
