"""A terminal with a command on it, and what a person would see there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import termios
import threading

import pyte
from pyte.screens import Char

from tests.home import PATIENCE, Home
from tests.processes import start
from tests.tools.support import wait_until

FAINT, GREY = b"\x1b[2m", b"\x1b[90m"  # this terminal knows nothing faint
HISTORY = 5_000  # lines that are kept above the screen


class Screen:
    """One command line of a home on a terminal of its own. It ends with the `with` at the latest."""

    def __init__(
        self, home: Home, *arguments: str, columns: int = 80, lines: int = 24, **environ: str
    ) -> None:
        self._screen = pyte.HistoryScreen(columns, lines, history=HISTORY, ratio=1.0)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self._ours, theirs = pty.openpty()
        self.resize(columns, lines)
        self.process = start(
            ["hermes_jobs", *arguments],
            (theirs, theirs, theirs),
            environ={**home.environ, "TERM": "xterm-256color", **environ},
            folder=home.work,
            terminal=True,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, name="terminal", daemon=True)
        self._reader.start()

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        os.close(self._ours)

    def resize(self, columns: int, lines: int) -> None:
        """Make the terminal of another size."""
        with self._lock:
            fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            self._screen.resize(lines, columns)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._ours, text.encode())

    @property
    def text(self) -> str:
        """All that stands there, also what has moved out at the top; a line each, without what is empty."""
        with self._lock:
            columns = range(self._screen.columns)
            above = ["".join(row[at].data for at in columns) for row in self._screen.history.top]
            rows = [line.rstrip() for line in (*above, *self._screen.display)]
        return "\n".join(row for row in rows if row)

    @property
    def cursor(self) -> tuple[int, int]:
        """Its row and column, from 0."""
        with self._lock:
            return self._screen.cursor.y, self._screen.cursor.x

    def rows(self) -> list[list[Char]]:
        """What stands there, cell by cell."""
        with self._lock:
            columns = range(self._screen.columns)
            return [[self._screen.buffer[line][at] for at in columns] for line in range(self._screen.lines)]

    def shows(self, text: str, times: int | None = None) -> None:
        """Wait until that stands there, or so often."""

        def is_there() -> bool:
            return text in self.text if times is None else self.text.count(text) == times

        try:
            wait_until(is_there, f"{text!r}")
        except AssertionError as error:
            raise AssertionError(f"{text!r} is not in\n{self.text}") from error

    def end(self) -> int:
        """Wait for the command's end; its exit code."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.type("\x03")

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # Linux reports so that the other side was closed
            while piece := os.read(self._ours, 65536):
                with self._lock:
                    self._stream.feed(piece.replace(FAINT, GREY))
                self._answer(piece)

    def _answer(self, piece: bytes) -> None:
        """A terminal says where its cursor is when it is asked."""
        if b"\x1b[6n" in piece:
            with self._lock:
                row, column = self._screen.cursor.y + 1, self._screen.cursor.x + 1
            os.write(self._ours, f"\x1b[{row};{column}R".encode())
