"""The part of a terminal above a prompt that is being edited."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from prompt_toolkit.application import Application

RESERVED = 4  # lines for the prompt, the toolbar and the input


class PromptSurface:
    """The `Surface` of a chat. Until `begin`, and after `end`, lines go straight to standard output.

    The prompt's terminal mode stays while lines are printed, so that no key is lost or read
    differently.
    """

    def __init__(self, size: Callable[[], tuple[int, int]]) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._above: list[str] = []
        self._is_scheduled = False
        self._is_lent = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._app: Application[str] | None = None
        self.below: tuple[str, ...] = ()
        """The lines that may still change, to be drawn above the prompt."""

    def begin(self, app: Application[str], loop: asyncio.AbstractEventLoop) -> None:
        """The prompt is shown; print lines above it."""
        with self._lock:
            self._app, self._loop = app, loop

    def end(self) -> None:
        """The prompt has ended."""
        with self._lock:
            self._app = self._loop = None
            above, self._above = self._above, []
            self.below = ()
        _print(above)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Lend the terminal, with the prompt hidden: lines are queued meanwhile."""
        self._is_lent = True
        try:
            yield
        finally:
            self._is_lent = False
            self.paint((), self.below)

    def print_waiting(self) -> None:
        """Print lines queued before the terminal was lent; called by the borrower."""
        with self._lock:
            above, self._above = self._above, []
        _print(above)

    def size(self) -> tuple[int, int]:
        """See `Surface.size`."""
        columns, lines = self._size()
        return columns, max(lines - RESERVED, 1)

    def paint(self, above: Sequence[str], below: Sequence[str]) -> None:
        """See `Surface.paint`."""
        with self._lock:
            self.below = tuple(below)
            if self._loop is None:
                _print(above)
                return
            self._above += above
            if not self._is_scheduled and not self._is_lent:
                self._is_scheduled = True
                self._loop.call_soon_threadsafe(self._draw)

    def _draw(self) -> None:
        with self._lock:
            app, self._is_scheduled = self._app, False
            if app is None or self._is_lent:
                return
            above, self._above = self._above, []
        if not app.is_running or not above:
            _print(above)
            app.invalidate()
            return
        app.renderer.erase()
        _print(above)
        app.renderer.reset()
        app.renderer.request_absolute_cursor_position()
        app._redraw()  # noqa: SLF001 - nothing public draws at once, and a prompt that vanishes flickers


def _print(lines: Sequence[str]) -> None:
    if lines:
        sys.stdout.write("".join(f"{line}\r\n" for line in lines))
        sys.stdout.flush()
