"""The states of streams that were used last: bounded by number and, roughly, by size."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import msgspec

from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.turns.session import Session

MAX_BYTES = 64_000_000  # of messages: about eighty sessions with full windows of 200,000 tokens
BASE_BYTES = 4_000  # of a state besides its messages
MESSAGE_BYTES = 2_000  # of a message besides its text, with what a session keeps of its turn


class _Size(NamedTuple):
    """What the first `num_messages` of a session take: their JSON in UTF-8, and the objects around it."""

    num_messages: int = 0
    num_bytes: int = 0

    def of(self, state: StreamState) -> _Size:
        """The size of a later state. New messages are measured: a history grows until a compression."""
        messages = state.messages if isinstance(state, Session) else ()
        known = self if len(messages) >= self.num_messages else _Size()
        added = messages[known.num_messages :]
        new = sum(len(msgspec.json.encode(message)) + MESSAGE_BYTES for message in added)
        return _Size(len(messages), known.num_bytes + new)


class StateCache:
    """Keeps at most `count` states, whose sessions have messages of `max_bytes`; the newest one in any case.

    For one thread at a time.
    """

    def __init__(self, count: int, max_bytes: int = MAX_BYTES) -> None:
        self._count = count
        self._max_bytes = max_bytes
        self._states: OrderedDict[str, StreamState] = OrderedDict()
        self._sizes: dict[str, _Size] = {}
        self._num_bytes = 0

    def get(self, stream: str) -> StreamState | None:
        """The stream's state, if it is kept."""
        return self._states.get(stream)

    def put(self, state: StreamState) -> None:
        """Keep a state, unless a newer one is kept, as the one that was used last."""
        kept = self._states.get(state.stream)
        if kept is None or kept.version <= state.version:
            self._states[state.stream] = state
            before = self._sizes.get(state.stream, _Size())
            size = self._sizes[state.stream] = before.of(state)
            self._num_bytes += size.num_bytes - before.num_bytes + (BASE_BYTES if kept is None else 0)
        self._states.move_to_end(state.stream)
        while len(self._states) > self._count or (
            self._num_bytes > self._max_bytes and len(self._states) > 1
        ):
            self.forget(next(iter(self._states)))

    def forget(self, stream: str) -> None:
        """Drop the stream's state."""
        if self._states.pop(stream, None) is not None:
            self._num_bytes -= self._sizes.pop(stream).num_bytes + BASE_BYTES

    def clear(self) -> None:
        """Drop all."""
        self._states.clear()
        self._sizes.clear()
        self._num_bytes = 0
