"""How fast one bot may send, so that Telegram refuses nothing.

In a chat one message a second, in a group 20 a minute, in all about 30 a second
(https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this). Each process paces itself;
what several send together beyond that is refused by Telegram with a time to wait, and sent then.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable

SECOND = 1.0
"""The length of Telegram's second."""
PER_SECOND, PER_MINUTE_IN_GROUP = 25, 20
KEPT = 600.0  # seconds after which the place of a delivery in the queue is forgotten


class Pace:
    """The messages that a bot has sent, and the deliveries that wait in line. Safe for many threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: monotonic seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._all: deque[float] = deque(maxlen=PER_SECOND)
        self._sent: defaultdict[int | str, deque[float]] = defaultdict(
            lambda: deque(maxlen=PER_MINUTE_IN_GROUP)
        )
        self._promised: dict[str, float] = {}
        self._under_way: set[int | str] = set()
        self._last: dict[int | str, float] = {}  # the last promise of each chat

    def wait(self, chat: int | str, delivery: str) -> float:
        """Seconds after which the delivery may send its next message to the chat; 0: now, and `is_sent`
        follows.

        A delivery that comes again at that time is not overtaken by later ones.
        """
        with self._lock:
            now = self._clock()
            at = max(self._free_at(chat, now), self._place(chat, delivery, now))
            if at <= now:
                self._promised.pop(delivery, None)
                self._under_way.add(chat)
                self._sent[chat].append(now)
                self._all.append(now)
                return 0.0
            self._promised = {name: due for name, due in self._promised.items() if now - due < KEPT}
            self._promised[delivery] = at
            self._last[chat] = max(self._last.get(chat, at), at)
            return at - now

    def is_sent(self, chat: int | str) -> None:
        """The message has arrived, or failed: the chat's next second begins now."""
        with self._lock:
            self._under_way.discard(chat)
            self._sent[chat][-1] = self._clock()

    def _place(self, chat: int | str, delivery: str, now: float) -> float:
        """The delivery's place in the chat's line: behind those that wait."""
        if delivery in self._promised:
            return self._promised[delivery]
        last = self._last.get(chat, now)
        return now if last <= now else last + _spacing(chat)

    def _free_at(self, chat: int | str, now: float) -> float:
        sent = self._sent[chat]
        ends = [(now if chat in self._under_way else sent[-1]) + SECOND] if sent else []
        if _is_group(chat) and len(sent) == PER_MINUTE_IN_GROUP:
            ends.append(sent[0] + 60 * SECOND)
        if len(self._all) == PER_SECOND:
            ends.append(self._all[0] + SECOND)
        return max(ends, default=0.0)


_PACES: defaultdict[tuple[str, str | None], Pace] = defaultdict(Pace)


def pace_of(token: str, base_url: str | None) -> Pace:
    """The pace of a bot in this process."""
    return _PACES[token, base_url]


def _is_group(chat: int | str) -> bool:
    return isinstance(chat, str) or chat < 0


def _spacing(chat: int | str) -> float:
    """Seconds between those that wait in line for a chat."""
    return 60 * SECOND / PER_MINUTE_IN_GROUP if _is_group(chat) else SECOND
