"""States that were folded once, kept while they are in use."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

from hermes_jobs.domain.streams import StreamState

S = TypeVar("S", bound=StreamState)


class StateCache(Generic[S]):
    """The newest states that are known of the `size` streams that were used last. Thread-safe."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._states: OrderedDict[str, S] = OrderedDict()

    def get(self, stream: str) -> S | None:
        """The stream's state as it was last seen."""
        with self._lock:
            return self._states.get(stream)

    def forget(self, stream: str) -> None:
        """Let go of what is known of the stream: the log does not agree with it."""
        with self._lock:
            self._states.pop(stream, None)

    def put(self, state: S) -> None:
        """Remember a state that was just folded, unless a newer one is known."""
        with self._lock:
            known = self._states.get(state.stream)
            if known is None or known.version <= state.version:
                self._states[state.stream] = state
            self._states.move_to_end(state.stream)
            while len(self._states) > self._size:
                self._states.popitem(last=False)
