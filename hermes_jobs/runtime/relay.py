"""Relay: sends messages for due steps that have none, or whose message was lost.

Every worker has one, and the elected one is active. Two active relays only send duplicates, which are
harmless.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from hermes_jobs.kernel.log.log import EventLog, WorkerRow
from hermes_jobs.kernel.turns.steps import Queue, Step
from hermes_jobs.system.clock import Clock

POLL_SECONDS = 0.25  # seconds between polls of all due steps, where they are short
MAX_POLL_SHARE = 1 / 40  # of the time spent in polls: those of a long backlog are slow, and not urgent
MAX_POLL_SECONDS = 1.0  # seconds between polls of a long backlog, at most
IDLE_SECONDS = 2.0  # between polls while nothing is due: a step may be given back without an event
MIN_POLL_SECONDS = 0.02  # seconds before a timer that has expired meanwhile
PATIENCE = 1.0  # seconds until an unclaimed step is sent again
LONGEST = 30.0  # longest interval in seconds between two messages for the same step
FEW = 4  # streams; for more, one query of all due steps is cheaper than one per stream
MOST_DUE = 1000  # steps in one query; a longer backlog hides the newest ones
REMEMBERED_SECONDS = 15.0  # seconds in which another relay may have ended unnoticed, on another host
MOST_OUT = 64  # unclaimed messages per queue that may be duplicates


class Sender(Protocol):
    """Sends messages; the methods that send return whether the broker accepted them."""

    @property
    def problem(self) -> str:
        """Why the broker did not accept the newest messages; empty if it did."""

    def probe(self) -> None:
        """See whether the broker would accept messages; `problem` has the result. Any thread may call it."""

    def send(self, steps: Sequence[Step]) -> bool:
        """Send the first messages of steps."""

    def send_again(self, steps: Sequence[Step]) -> bool:
        """Send further messages of steps whose first one may be lost."""


class _Seen(msgspec.Struct):
    """A due step, in monotonic seconds: first seen, next sending, and the interval after it.

    `sent`: whether this relay has sent it; a step that was only seen may have no message at all. `again`: as
    one whose first message may be lost.
    """

    since: float
    at: float
    wait: float = PATIENCE
    sent: bool = False
    again: bool = False


class _Progress(msgspec.Struct):
    """A queue's progress with first messages: when the last claim was seen, and since when the claimed step
    had been due.
    """

    at: float
    reached: float = float("-inf")


class Relay:
    """Remembers the due steps that it has seen, and since when."""

    def __init__(self, log: EventLog, clock: Clock, sender: Sender) -> None:
        self._log = log
        self._clock = clock
        self._sender = sender
        self._seen: dict[Step, _Seen] = {}
        self._queues: dict[Queue, _Progress] = {}
        self._remembered: dict[str, float] = {}

    def remember(self, streams: Collection[str]) -> None:
        """Leave streams to the elected relay, but remember them: it may end before it sends their steps."""
        now = self._clock.monotonic()
        for stream in streams:
            self._remembered.pop(stream, None)
            self._remembered[stream] = now  # moved behind all others: the oldest is first
        while self._remembered and now - next(iter(self._remembered.values())) >= REMEMBERED_SECONDS:
            del self._remembered[next(iter(self._remembered))]

    def send_now(self, streams: Collection[str]) -> int:
        """Send the due steps of streams written by processes that send nothing, and of remembered streams;
        returns the number of steps.
        """
        now = self._clock.monotonic()
        streams = self._remembered.keys() | streams
        self._remembered = {}
        unsent = [step for step in self._due_in(streams) if not self._has_sent(step)]
        if not unsent or not self._sender.send(unsent):
            return 0
        for step in unsent:
            self._seen[step] = _Seen(since=now, at=now + PATIENCE, wait=2 * PATIENCE, sent=True)
        return len(unsent)

    def poll(self) -> int:
        """Send all other steps that need a message; returns the number of steps.

        Expired timers are sent at once. Other steps are sent after a second without a claim, then at doubled
        intervals up to half a minute; but not while the queue is merely busy, that is, while steps that
        became due no later are being claimed by their first messages. A message may be a duplicate, so their
        number in the queue is limited.
        """
        now = self._clock.monotonic()
        due = [row.step for row in self._log.due(self._clock.now(), limit=MOST_DUE)]
        self._remember(due, now)
        late = self._late(due, now)
        if not late or not self._sender.send_again(late):
            return 0
        for step in late:
            seen = self._seen[step]
            seen.at, seen.wait = now + seen.wait, min(seen.wait * 2, LONGEST)
            seen.sent = seen.again = True
        return len(late)

    def rest(self, took: float) -> float:
        """Seconds until the next poll, after one that took so many seconds and without news of the log."""
        if self._seen:
            return max(POLL_SECONDS, min(took / MAX_POLL_SHARE, MAX_POLL_SECONDS))
        timer = self._log.next_due_at()
        until = IDLE_SECONDS if timer is None else timer - self._clock.now()
        return max(MIN_POLL_SECONDS, min(until, IDLE_SECONDS))

    def _due_in(self, streams: Collection[str]) -> list[Step]:
        now = self._clock.now()
        if len(streams) > FEW:
            oldest = self._log.due(now, limit=MOST_DUE)
            if len(oldest) < MOST_DUE:
                return [row.step for row in oldest if row.step.stream in streams]
        return [row.step for stream in sorted(streams) for row in self._log.due(now, stream=stream)]

    def _has_sent(self, step: Step) -> bool:
        seen = self._seen.get(step)
        return seen is not None and seen.sent

    def _remember(self, due: Sequence[Step], now: float) -> None:
        for step in self._seen.keys() - set(due):
            if not self._seen[step].again:
                progress = self._queues.setdefault(step.queue, _Progress(now))
                progress.at = now
                progress.reached = max(progress.reached, self._seen[step].since)
        self._seen = {step: self._seen.get(step) or _first(step, now) for step in due}

    def _late(self, due: Sequence[Step], now: float) -> list[Step]:
        """The steps to send now: those sent before, and the oldest ones for which the queue has room."""
        out = Counter(step.queue for step in due if self._seen[step].again)
        late = []
        for step in due:
            is_out = self._seen[step].again
            if self._is_late(step, now) and (is_out or out[step.queue] < MOST_OUT):
                out[step.queue] += not is_out
                late.append(step)
        return late

    def _is_late(self, step: Step, now: float) -> bool:
        seen = self._seen[step]
        if seen.at > now:
            return False
        progress = self._queues.get(step.queue)
        return progress is None or now - progress.at >= PATIENCE or progress.reached > seen.since


def _first(step: Step, now: float) -> _Seen:
    """An expired timer has no message yet; any other step gets time to be claimed."""
    return _Seen(since=now, at=now if step.not_before > 0 else now + PATIENCE)


def is_elected(worker: str, alive: Sequence[WorkerRow], without_broker: Collection[str] = ()) -> bool:
    """Whether this worker's relay is active: it has the lowest id of the workers that consume queues.

    Those `without_broker` do not count, unless there are no others.
    """
    candidates = [candidate.id for candidate in alive if candidate.queues]
    able = [candidate for candidate in candidates if candidate not in without_broker]
    return worker == min(able or candidates, default=None)
