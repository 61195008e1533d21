"""Drawing on a terminal: lines that stay, and below them lines that are drawn over."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TextIO

import click
from rich.cells import cell_len

BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"  # one drawing at a time, where the terminal knows that
CLEAR_LINE, CLEAR_BELOW = "\x1b[K", "\x1b[J"


class TerminalSurface:
    """The `Surface` of a terminal that nobody else writes to. The cursor stays behind the last line."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._below: tuple[str, ...] = ()

    def size(self) -> tuple[int, int]:
        """See `Surface.size`."""
        size = shutil.get_terminal_size()
        return size.columns, size.lines

    def paint(self, above: Sequence[str], below: Sequence[str]) -> None:
        """See `Surface.paint`."""
        if not above and tuple(below) == self._below:
            return
        rows = self._rows()
        start = f"\r\x1b[{rows - 1}A" if rows > 1 else "\r" if rows else ""
        # Lines that stay may be longer than a row: what they are printed over is cleared first.
        stays = CLEAR_BELOW + "".join(f"{line}\r\n" for line in above) if above else ""
        changes = "\r\n".join(f"{line}{CLEAR_LINE}" for line in below)
        self._out.write(f"{BEGIN}{start}{stays}{changes}{CLEAR_BELOW}{END}")
        self._out.flush()
        self._below = tuple(below)

    def _rows(self) -> int:
        """How many rows the changing lines take by now: a terminal made narrower has broken them."""
        columns = max(self.size()[0], 1)
        widths = (cell_len(click.unstyle(line)) for line in self._below)
        return sum(max(1, -(-width // columns)) for width in widths)
