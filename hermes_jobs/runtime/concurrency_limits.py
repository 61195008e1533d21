"""How many steps of a kind a process runs at once, so that no kind can take all of its threads."""

from __future__ import annotations

import threading
from collections import Counter, deque

from hermes_jobs.domain.session.steps import Step, StepKind

KEPT_FREE = 8  # threads that neither model calls nor tools may take


class ConcurrencyLimits:
    """Counts what is under way. A step over its kind's cap is remembered until one of that kind has ended."""

    def __init__(self, concurrency: int) -> None:
        long_ones = max(1, concurrency - min(KEPT_FREE, concurrency // 4))
        self._caps: dict[StepKind, int] = {"turn.call_model": long_ones, "turn.run_tool": long_ones}
        self._running: Counter[StepKind] = Counter()
        self._deferred: dict[StepKind, deque[Step]] = {}
        self._lock = threading.Lock()

    def enter(self, step: Step) -> bool:
        """Whether the step may be performed; if so, `leave` has to follow."""
        with self._lock:
            if self._running[step.kind] >= self._caps.get(step.kind, self._running[step.kind] + 1):
                self._deferred.setdefault(step.kind, deque()).append(step)
                return False
            self._running[step.kind] += 1
            return True

    def leave(self, step: Step, *, held_up: bool = False) -> Step | None:
        """The step has ended; the one that may be sent again in its place.

        One that was `held_up` by others of its kind has not: it is remembered, and nothing was freed.
        """
        with self._lock:
            self._running[step.kind] -= 1
            deferred = self._deferred.setdefault(step.kind, deque())
            if held_up:
                deferred.append(step)
                return None
            return deferred.popleft() if deferred else None
