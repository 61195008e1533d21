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

    `call` names the attempt, unlike any other's; `at` characters of its text stand before this one. `over`:
    the attempt has ended, well or not. `tool`: the text is the progress of the tool call `step`, not an
    answer.
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


def ignore_delta(piece: TextDelta) -> None:
    """The `OnDelta` where nobody watches."""


class LiveChannel(Protocol):
    """Carries pieces from whoever works on a turn to whoever watches it. Safe for many threads."""

    def publish(self, piece: TextDelta) -> None:
        """Tell a piece to those who listen. Never blocks, never raises."""

    def subscribe(self, turn: str, hear: OnDelta) -> Callable[[], None]:
        """Hear the turn's pieces from now on, those of an attempt under way from its beginning.

        Returns how to stop that.
        """

    def close(self) -> None:
        """Tell and hear nothing more."""


class DeltaStream:
    """The text of one attempt, told piece by piece as it is made. For one thread."""

    def __init__(
        self, on_delta: OnDelta, *, turn: str, step: str, attempt: int, call: str, tool: bool = False
    ) -> None:
        self._on_delta = on_delta
        self._piece = TextDelta(turn=turn, step=step, attempt=attempt, call=call, at=0, tool=tool)
        self._said: list[str] = []
        self._length = 0

    @property
    def text(self) -> str:
        """All that was said."""
        return "".join(self._said)

    def say(self, text: str) -> None:
        """The next piece of text."""
        self._on_delta(msgspec.structs.replace(self._piece, at=self._length, text=text))
        self._said.append(text)
        self._length += len(text)

    def end(self) -> None:
        """Nothing more is said."""
        self._on_delta(msgspec.structs.replace(self._piece, at=self._length, over=True))


class LiveTranscript:
    """What a watcher makes of a turn's pieces: the text of the attempt that speaks now. For one thread."""

    def __init__(self) -> None:
        self.text = ""
        self._piece: TextDelta | None = None
        self._past: set[str] = set()
        self._ended: dict[str, int] = {}

    def hear(self, piece: TextDelta) -> bool:
        """Take in a piece; whether the text has changed. Another attempt begins it again."""
        if piece.over or piece.call in self._past or self._ended.get(piece.step, 0) >= piece.attempt:
            return False
        if self._piece is None or self._piece.call != piece.call:
            self._forget()
            self._piece = piece
        if piece.at > len(self.text):
            return False  # something in between was lost: the log will have all of it
        longer = self.text[: piece.at] + piece.text
        if len(longer) <= len(self.text):
            return False
        self.text = longer
        return True

    def end(self, step: str, attempt: int) -> None:
        """The log says how that attempt has ended: what is still told of it comes too late."""
        self._ended[step] = attempt
        if self._piece is not None and self._piece.step == step:
            self._forget()

    def _forget(self) -> None:
        if self._piece is not None:
            self._past.add(self._piece.call)
        self._piece, self.text = None, ""


class Subscribers:
    """Who hears which turns. Its owner sees to it that one thread at a time uses it."""

    def __init__(self) -> None:
        self._by_turn: dict[str, list[OnDelta]] = {}

    @property
    def turns(self) -> tuple[str, ...]:
        """The turns that somebody hears."""
        return tuple(self._by_turn)

    def add(self, turn: str, hear: OnDelta) -> None:
        """One more for that turn."""
        self._by_turn.setdefault(turn, []).append(hear)

    def remove(self, turn: str, hear: OnDelta) -> None:
        """One less, where it is there."""
        listeners = self._by_turn.get(turn, [])
        if hear in listeners:
            listeners.remove(hear)
        if not listeners:
            self._by_turn.pop(turn, None)

    def clear(self) -> None:
        """Nobody any more."""
        self._by_turn.clear()

    def tell(self, piece: TextDelta) -> None:
        """Tell the piece to all who hear its turn; one that stumbles is no reason for others to."""
        for hear in self._by_turn.get(piece.turn, ()):
            _tell(hear, piece)


def _tell(hear: OnDelta, piece: TextDelta) -> None:
    try:
        hear(piece)
    except Exception:
        logger.exception("a listener failed; the turn continues")


class LocalChannel:
    """The channel within one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners = Subscribers()
        self._spoken: dict[str, list[TextDelta]] = {}  # by turn, of the attempt under way

    def publish(self, piece: TextDelta) -> None:
        """See `LiveChannel.tell`."""
        with self._lock:
            spoken = self._spoken.setdefault(piece.turn, [])
            if spoken and spoken[0].call != piece.call:
                spoken.clear()
            spoken.append(piece)
            if piece.over:
                del self._spoken[piece.turn]
            self._listeners.tell(piece)

    def subscribe(self, turn: str, hear: OnDelta) -> Callable[[], None]:
        """See `LiveChannel.listen`."""
        with self._lock:
            self._listeners.add(turn, hear)
            for piece in self._spoken.get(turn, ()):
                _tell(hear, piece)
        return lambda: self._leave(turn, hear)

    def close(self) -> None:
        """See `LiveChannel.close`."""
        with self._lock:
            self._listeners.clear()
            self._spoken.clear()

    def _leave(self, turn: str, hear: OnDelta) -> None:
        with self._lock:
            self._listeners.remove(turn, hear)
