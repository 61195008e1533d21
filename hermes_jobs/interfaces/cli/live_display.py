"""A terminal while a turn runs: what was said stays, and below it stands what may still change.

An answer is shown as Markdown while it is being said. Its finished paragraphs, lists and blocks of code are
printed for good; only the one that still grows, and what is under way, is drawn again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import click

from hermes_jobs.domain.session.titles import printable
from hermes_jobs.engine.live import LiveTranscript, TextDelta
from hermes_jobs.interfaces.cli.markdown import blocks, rendered, settled
from hermes_jobs.interfaces.cli.output import cut

PACE = 0.08  # seconds from one drawing to the next at least
SPARE = 3  # lines of the terminal that are left to others
AGAIN = "· (that answer broke off; here is another)"


class Surface(Protocol):
    """What is drawn on."""

    def size(self) -> tuple[int, int]:
        """Columns and lines."""

    def paint(self, above: Sequence[str], below: Sequence[str]) -> None:
        """Print lines that stay, and under them those that replace the ones that did not stay before."""


class Stage:
    """Hears what is said and done, from several threads, and draws it. Close it to leave only what stays."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._lock = threading.RLock()
        self._heard: deque[TextDelta] = deque()
        self._changed = threading.Event()
        self._live = LiveTranscript()
        self._spoken = ""  # of the speech under way, what has been printed for good
        self._all = ""  # every speech, one after the other
        self._is_first = True  # whether the next block is the first of its speech
        self._above: list[str] = []
        self._doing: tuple[str, ...] = ()
        self._closed = False
        self._painter = threading.Thread(target=self._keep_painting, name="painter", daemon=True)
        self._painter.start()

    # --- what is heard --------------------------------------------------------------------------

    def hear(self, piece: TextDelta) -> None:
        """A piece of what is being said. Waits for nothing, not even a terminal that was told to stop."""
        if not self._closed:
            self._heard.append(piece)
            self._changed.set()

    def said(self, step: str, attempt: int, content: str) -> None:
        """The log has what was said at that step: all of it is printed."""
        with self._lock:
            self._listen()
            self._live.end(step, attempt)
            self._finish(printable(content))
            self._all += printable(content)
            self._paint()

    def failed(self, step: str, attempt: int) -> None:
        """That attempt has failed: what it has said counts no more."""
        with self._lock:
            self._listen()
            self._live.end(step, attempt)
            self._changed.set()

    def stopped(self, step: str, attempt: int) -> None:
        """That attempt was stopped by the person: what it has said stays."""
        with self._lock:
            self._finish(self._spoken_by_now())
            self._live.end(step, attempt)
            self._paint()

    def answer(self, text: str) -> None:
        """The turn's answer, where it is not what was said last."""
        shown = printable(text)
        with self._lock:
            if not self._all.strip() or not self._all.strip().endswith(shown.strip()):
                self._finish(shown)
                self._all += shown
            self._paint()

    def turn_ended(self) -> None:
        """What was said until now has been said; the next answer is another turn's."""
        with self._lock:
            self._all = ""
            self._start_anew()

    def leave(self) -> None:
        """Leave what was said so far, and hear of something else from now on."""
        with self._lock:
            self._finish(self._spoken_by_now())
            self._live, self._all, self._doing = LiveTranscript(), "", ()
            self._paint()

    def line(self, text: str, *, dim: bool = False) -> None:
        """A line that stays."""
        with self._lock:
            self._above += [click.style(line, dim=True) if dim else line for line in text.split("\n")]
            self._paint()

    def doing(self, lines: Sequence[str]) -> None:
        """What is under way, a line each; they stand at the bottom while they hold."""
        with self._lock:
            if not self._closed and self._doing != tuple(lines):
                self._doing = tuple(lines)
                self._changed.set()

    def close(self) -> None:
        """Leave what was said so far, and nothing of what may still change."""
        with self._lock:
            if self._closed:
                return
            self._finish(self._spoken_by_now())
            self._doing = ()
            self._closed = True
            self._paint()
        self._changed.set()
        self._painter.join()

    # --- drawing --------------------------------------------------------------------------------

    def _keep_painting(self) -> None:
        while True:
            self._changed.wait()
            self._changed.clear()
            with self._lock:
                if self._closed:
                    return
                self._paint()
            time.sleep(PACE)

    def _listen(self) -> None:
        """Take in what was heard."""
        while self._heard:
            self._live.hear(self._heard.popleft())

    def _paint(self) -> None:
        columns, lines = self._surface.size()
        width = max(columns - 1, 8)
        below = [] if self._closed else self._open_block(width)
        doing = () if self._live.text else self._doing  # who speaks is at nothing else
        status = [click.style(cut(line, width), dim=True) for line in doing]
        room = max(lines - SPARE - len(status), 1)
        above, self._above = self._above, []
        self._surface.paint(above, [*below[-room:], *status])

    def _open_block(self, width: int) -> list[str]:
        """The lines of what still grows; what is finished before it is printed."""
        text = self._spoken_by_now()
        if not text.startswith(self._spoken):
            if self._spoken.startswith(text):
                return []  # another attempt, that has said the same as far as it has come
            self._above.append(click.style(AGAIN, dim=True))
            self._start_anew()
        finished, growing = settled(text[len(self._spoken) :])
        for block in finished:
            self._print(block, width)
            self._spoken += block
        lines = rendered(growing, width)
        return lines if self._is_first or not lines else ["", *lines]

    def _spoken_by_now(self) -> str:
        self._listen()
        return printable(self._live.text)

    def _finish(self, text: str) -> None:
        """Print what is left of a speech that is whole."""
        width = max(self._surface.size()[0] - 1, 8)
        if not text.startswith(self._spoken):
            if text.strip():
                self._above.append(click.style(AGAIN, dim=True))
            self._start_anew()
        for block in blocks(text[len(self._spoken) :]):
            self._print(block, width)
        self._start_anew()

    def _print(self, block: str, width: int) -> None:
        lines = rendered(block, width)
        if lines:
            self._above += lines if self._is_first else ["", *lines]
            self._is_first = False

    def _start_anew(self) -> None:
        self._spoken, self._is_first = "", True
