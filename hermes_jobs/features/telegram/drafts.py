"""Answers as they are written, for private chats; Telegram calls them drafts.

Nothing of them is in the log, and nobody depends on them: Telegram shows a draft for 30 seconds, or until the
next message (https://core.telegram.org/bots/api#sendmessagedraft). The answer itself is a delivery.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from zlib import crc32

import msgspec

from hermes_jobs.features.telegram.markdown import blocks
from hermes_jobs.features.telegram.messages import LIMIT, FilePart, TextPart, packed
from hermes_jobs.kernel.live import LiveChannel, LiveTranscript, TextDelta


class Draft(msgspec.Struct, frozen=True):
    """What a chat shows of an answer; `number` is the same for all drafts of a turn, and not 0."""

    target: str
    number: int
    part: TextPart


class AnswerDrafts:
    """The texts of turns whose models are writing. Safe for many threads."""

    def __init__(self, channels: Sequence[LiveChannel], redact: Callable[[str], str]) -> None:
        """`redact` removes secrets."""
        self._channels = channels
        self._redact = redact
        self._lock = threading.Lock()
        self._watched: dict[str, _Watched] = {}

    def watch(self, turns: Mapping[str, Sequence[str]]) -> None:
        """The turns to show from now on, each with its private chats."""
        with self._lock:
            gone = [self._watched.pop(turn) for turn in self._watched.keys() - turns.keys()]
            new = {turn: _Watched(targets) for turn, targets in turns.items() if turn not in self._watched}
            self._watched |= new
        for watched in gone:
            for leave in watched.leave:
                leave()
        for turn, watched in new.items():
            watched.leave = [channel.subscribe(turn, self._add) for channel in self._channels]

    def grown(self) -> Iterator[Draft]:
        """The drafts that have changed since they were last given; one for each chat."""
        with self._lock:
            texts = [(turn, each, each.transcript.text) for turn, each in self._watched.items()]
        given: set[str] = set()
        for turn, watched, text in texts:
            part = draft_part(self._redact(text)) if text and given.isdisjoint(watched.targets) else None
            if part is None or part == watched.shown:
                continue
            watched.shown = part
            given.update(watched.targets)
            for target in watched.targets:
                yield Draft(target, crc32(turn.encode()) or 1, part)

    def _add(self, delta: TextDelta) -> None:
        with self._lock:
            if not delta.tool and (watched := self._watched.get(delta.turn)) is not None:
                watched.transcript.add_delta(delta)


class _Watched:
    """A turn: its chats, its text, and what they show of it."""

    def __init__(self, targets: Sequence[str]) -> None:
        self.targets = targets
        self.transcript = LiveTranscript()
        self.shown: TextPart | None = None
        self.leave: Sequence[Callable[[], None]] = ()


def draft_part(text: str) -> TextPart | None:
    """The message for an unfinished text: up to its last white space, and its end where it is long; None for
    too little."""
    whole = re.sub(r"\S+\Z", "", text)
    parts = packed(blocks(whole), max_code=LIMIT)
    if not parts:
        return None
    last = parts[-1]
    return TextPart(last.content[-LIMIT // 4 :].strip()) if isinstance(last, FilePart) else last
