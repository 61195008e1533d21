"""Streaming an answer's text to its watchers, outside the log.

The log holds the complete answer; a delta may be lost, duplicated or late, and nothing waits for one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

import msgspec

logger = logging.getLogger(__name__)


class TextDelta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Text that may be shown, of one attempt at a model call.

    `call` is a unique id of the attempt; `at` is the offset of this text in its text, in characters. `over`:
    the attempt has ended, successfully or not. `tool`: the text is the progress of the tool call `step`, not
    an answer.
    """

    turn: str
    step: str
    attempt: int
    call: str
    at: int
    text: str = ""
    over: bool = False
    tool: bool = False


OnDelta = Callable[[TextDelta], None]
"""Is called with deltas as they arrive, from any thread. Never blocks or raises."""


def ignore_delta(delta: TextDelta) -> None:
    """The `OnDelta` without a subscriber."""


class LiveChannel(Protocol):
    """Carries text deltas of turns from workers to subscribers. Safe for many threads."""

    def publish(self, delta: TextDelta) -> None:
        """Send a delta to the subscribers of its turn. Never blocks, never raises."""

    def subscribe(self, turn: str, on_delta: OnDelta) -> Callable[[], None]:
        """Receive the turn's deltas, those of a running attempt from its beginning; returns a function that
        ends the subscription.
        """

    def close(self) -> None:
        """End all subscriptions."""


class DeltaStream:
    """Emits the text of one attempt as deltas. For one thread."""

    def __init__(
        self, on_delta: OnDelta, *, turn: str, step: str, attempt: int, call: str, tool: bool = False
    ) -> None:
        self._on_delta = on_delta
        self._delta = TextDelta(turn=turn, step=step, attempt=attempt, call=call, at=0, tool=tool)
        self._parts: list[str] = []
        self._length = 0

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    def say(self, text: str) -> None:
        """Emit the next delta."""
        self._on_delta(msgspec.structs.replace(self._delta, at=self._length, text=text))
        self._parts.append(text)
        self._length += len(text)

    def end(self) -> None:
        """Emit the end of the text."""
        self._on_delta(msgspec.structs.replace(self._delta, at=self._length, over=True))


class LiveTranscript:
    """The text of a turn's running attempt, assembled from deltas. For one thread."""

    def __init__(self) -> None:
        self.text = ""
        self._delta: TextDelta | None = None
        self._past: set[str] = set()
        self._ended: dict[str, int] = {}

    def add_delta(self, delta: TextDelta) -> bool:
        """Add a delta; returns whether the text has changed. Another attempt replaces the text."""
        if delta.over or delta.call in self._past or self._ended.get(delta.step, 0) >= delta.attempt:
            return False
        if self._delta is None or self._delta.call != delta.call:
            self._forget()
            self._delta = delta
        if delta.at > len(self.text):
            return False  # a delta in between was lost; the log will have the whole text
        longer = self.text[: delta.at] + delta.text
        if len(longer) <= len(self.text):
            return False
        self.text = longer
        return True

    def end(self, step: str, attempt: int) -> None:
        """Ignore later deltas of that attempt: the log has its outcome."""
        self._ended[step] = attempt
        if self._delta is not None and self._delta.step == step:
            self._forget()

    def _forget(self) -> None:
        if self._delta is not None:
            self._past.add(self._delta.call)
        self._delta, self.text = None, ""


class Subscribers:
    """The subscribers of each turn. Not thread-safe: its owner locks."""

    def __init__(self) -> None:
        self._by_turn: dict[str, list[OnDelta]] = {}

    @property
    def turns(self) -> tuple[str, ...]:
        """The turns with a subscriber."""
        return tuple(self._by_turn)

    def add(self, turn: str, on_delta: OnDelta) -> None:
        """Add a subscriber of that turn."""
        self._by_turn.setdefault(turn, []).append(on_delta)

    def remove(self, turn: str, on_delta: OnDelta) -> None:
        """Remove a subscriber, if it is there."""
        subscribers = self._by_turn.get(turn, [])
        if on_delta in subscribers:
            subscribers.remove(on_delta)
        if not subscribers:
            self._by_turn.pop(turn, None)

    def clear(self) -> None:
        """Remove all."""
        self._by_turn.clear()

    def emit(self, delta: TextDelta) -> None:
        """Call the subscribers of the delta's turn. An exception of one does not affect the others."""
        for on_delta in self._by_turn.get(delta.turn, ()):
            _emit(on_delta, delta)


def _emit(on_delta: OnDelta, delta: TextDelta) -> None:
    try:
        on_delta(delta)
    except Exception:
        logger.exception("a subscriber failed; the turn continues")


class LocalChannel:
    """The channel within one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscribers = Subscribers()
        self._running: dict[str, list[TextDelta]] = {}  # by turn, of the attempt under way

    def publish(self, delta: TextDelta) -> None:
        """See `LiveChannel.publish`."""
        with self._lock:
            running = self._running.setdefault(delta.turn, [])
            if running and (running[0].call != delta.call or delta.at == 0):  # the whole text comes again
                running.clear()
            running.append(delta)
            if delta.over:
                del self._running[delta.turn]
            self._subscribers.emit(delta)

    def subscribe(self, turn: str, on_delta: OnDelta) -> Callable[[], None]:
        """See `LiveChannel.subscribe`."""
        with self._lock:
            self._subscribers.add(turn, on_delta)
            for delta in self._running.get(turn, ()):
                _emit(on_delta, delta)
        return lambda: self._leave(turn, on_delta)

    def forget(self, turn: str) -> None:
        """Forget the running attempt of a turn whose deltas do not come any more."""
        with self._lock:
            self._running.pop(turn, None)

    def close(self) -> None:
        """See `LiveChannel.close`."""
        with self._lock:
            self._subscribers.clear()
            self._running.clear()

    def _leave(self, turn: str, on_delta: OnDelta) -> None:
        with self._lock:
            self._subscribers.remove(turn, on_delta)
