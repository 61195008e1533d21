"""The steps that this process runs, and their cancellation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

LOST = "lost"


class ShareableLease(Protocol):
    """The lease under which this process runs steps."""

    def is_fresh(self) -> bool:
        """Whether it is valid."""

    def share(self) -> int:
        """A descriptor from which child processes read that."""


class CancelToken:
    """The `Cancel` of one step: fires once, with a reason; callbacks run in the thread that fires it.

    It fires with `lost` when the reason is read and the lease has expired.
    """

    def __init__(self, lease: ShareableLease | None = None) -> None:
        self._lease = lease
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._callbacks: list[Callable[[], None]] = []

    @property
    def reason(self) -> str | None:
        """None until it fires."""
        if self._reason is None and self._lease is not None and not self._lease.is_fresh():
            self.fire(LOST)
        return self._reason

    def share_lease(self) -> int | None:
        """See `Cancel`."""
        return None if self._lease is None else self._lease.share()

    def fire(self, reason: str) -> None:
        """Cancel the step; the first reason is kept."""
        self.fire_first(reason)

    def fire_first(self, reason: str) -> bool:
        """The same; returns whether this reason is the first."""
        with self._lock:
            if self._reason is not None:
                return False
            self._reason = reason
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
        return True

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back once when fired, at once if it has been; the returned function removes it."""
        with self._lock:
            if self._reason is None:
                self._callbacks.append(callback)
                return lambda: self._forget(callback)
        callback()
        return lambda: None

    def _forget(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)


class RunningStep:
    """A running step: its turn, and whether it writes; a shutdown waits for writes."""

    def __init__(self, step: str, turn: str | None, lease: ShareableLease | None) -> None:
        self.step = step
        self.turn = turn
        self.is_write = False
        self.cancel = CancelToken(lease)


class InFlightSteps:
    """The running steps of this process. Safe for many threads.

    `lease` is the one of new steps; None where no other worker could reclaim them.
    """

    def __init__(self) -> None:
        self.lease: ShareableLease | None = None
        self._lock = threading.Lock()
        self._acts: set[RunningStep] = set()

    @contextmanager
    def track(self, step: str, turn: str | None) -> Iterator[RunningStep]:
        """Track a step. Entered before its claim, so that a cancellation in between is not lost."""
        act = RunningStep(step, turn, self.lease)
        with self._lock:
            self._acts.add(act)
        try:
            yield act
        finally:
            with self._lock:
                self._acts.discard(act)

    def __len__(self) -> int:
        return len(self._acts)

    def stop(self, reason: str, which: Callable[[RunningStep], bool] = lambda act: True) -> int:
        """Cancel the steps that `which` picks; returns how many were not cancelled before."""
        with self._lock:
            chosen = [act for act in self._acts if which(act)]
        return sum(act.cancel.fire_first(reason) for act in chosen)
