"""The instances of one plugin in one process, one per conversation, and how long a call to it may take."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import msgspec

from hermes_jobs.plugins.circuit_breaker import CallTimeout

T = TypeVar("T")
MAX_INSTANCES = 64


class TimeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that a call to a memory provider or a context engine may take.

    `learn`: a provider's work after a turn. `compress`: an engine's compression, with the summariser's
    answers.
    """

    ask: float = 3.0
    begin: float = 8.0
    tool: float = 30.0
    learn: float = 30.0
    compress: float = 600.0
    end: float = 5.0


class Instances(Generic[T]):
    """A cache of instances by conversation; beyond `MAX_INSTANCES` the least recently used one goes.

    Safe for many threads. `close` is called, outside the lock, with each instance that leaves.
    """

    def __init__(self, close: Callable[[T], None] | None = None) -> None:
        self._close = close
        self._lock = threading.Lock()
        self._instances: OrderedDict[str, T] = OrderedDict()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """The conversation's instance, made where there is none. Raises what `make` raises."""
        with self._lock:
            instance = self._instances.get(key)
            if instance is None:
                instance = self._instances[key] = make()
            self._instances.move_to_end(key)
            excess = len(self._instances) - MAX_INSTANCES
            removed = [self._instances.popitem(last=False)[1] for _ in range(excess)]
        self._close_all(removed)
        return instance

    def remove(self, key: str) -> None:
        """Close the conversation's instance, if there is one."""
        with self._lock:
            removed = [self._instances.pop(key)] if key in self._instances else []
        self._close_all(removed)

    def clear(self) -> None:
        """Close all instances."""
        with self._lock:
            removed = list(self._instances.values())
            self._instances.clear()
        self._close_all(removed)

    def _close_all(self, removed: list[T]) -> None:
        for instance in removed:
            if self._close is not None:
                self._close(instance)


@contextmanager
def acquired(lock: threading.Lock, seconds: float) -> Iterator[None]:
    """Hold the lock. Raises `CallTimeout` where it is not free within so many seconds."""
    if not lock.acquire(timeout=seconds):
        raise CallTimeout(f"was at something else for {seconds:g} s")
    try:
        yield
    finally:
        lock.release()
