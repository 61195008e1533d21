"""The steps that this process is acting on, and how they are told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

LOST = "lost"


class Lease(Protocol):
    """Under which this process acts."""

    def is_fresh(self) -> bool:
        """Whether it still may."""

    def share(self) -> int:
        """A descriptor by which other processes can see that."""


class CancelToken:
    """One act's `Cancel`: fires once, with a reason; callbacks run in the thread that fires it.

    It counts as fired for good once somebody has looked and the lease was no longer fresh.
    """

    def __init__(self, lease: Lease | None = None) -> None:
        self._lease = lease
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._callbacks: list[Callable[[], None]] = []

    @property
    def reason(self) -> str | None:
        """Null while the act is wanted."""
        if self._reason is None and self._lease is not None and not self._lease.is_fresh():
            self.fire(LOST)
        return self._reason

    def share_lease(self) -> int | None:
        """See `Cancel`."""
        return None if self._lease is None else self._lease.share()

    def fire(self, reason: str) -> None:
        """Stop the act; the first reason stands."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back once when fired, at once if it has been; the returned function takes that back."""
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
    """A step under way: which turn it serves, and whether it is a write that is better let end."""

    def __init__(self, step: str, turn: str | None, lease: Lease | None) -> None:
        self.step = step
        self.turn = turn
        self.is_write = False
        self.cancel = CancelToken(lease)


class InFlightSteps:
    """All acts of this process. Safe for many threads.

    `lease` is the one under which acts begin; null where nobody could take them over.
    """

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self._lock = threading.Lock()
        self._acts: set[RunningStep] = set()

    @contextmanager
    def track(self, step: str, turn: str | None) -> Iterator[RunningStep]:
        """An act, entered before its step is claimed, so that no cancel falls between the two."""
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
        """Tell the acts that `which` picks to stop; how many there were."""
        with self._lock:
            chosen = [act for act in self._acts if which(act)]
        for act in chosen:
            act.cancel.fire(reason)
        return len(chosen)
