"""The live display of a running turn: final lines stay, changing ones are redrawn below them.

A streamed answer is shown as Markdown. Its complete paragraphs, lists and code blocks are printed once;
only the growing block and the status lines are redrawn.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Protocol, TextIO

import click
from rich.cells import cell_len

from hermes_jobs.interfaces.cli.markdown import blocks, complete_blocks, render
from hermes_jobs.interfaces.cli.output import cut, flowed
from hermes_jobs.interfaces.cli.turns.output import TurnOutput
from hermes_jobs.kernel.live import LiveTranscript, TextDelta
from hermes_jobs.kernel.turns.titles import printable

REDRAW_SECONDS = 0.08  # the least seconds between two drawings
UNUSED_LINES = 3  # lines of the terminal that are not used
NEW_ANSWER_NOTICE = "· (the answer was interrupted; here is another)"


class Surface(Protocol):
    """The surface to draw on."""

    def size(self) -> tuple[int, int]:
        """Columns and lines."""

    def paint(self, above: Sequence[str], below: Sequence[str]) -> None:
        """Print final lines, and below them the changing lines in place of the previous ones."""


class LiveDisplay:
    """Draws text and status lines, called from several threads. `close` leaves only finished text."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._lock = threading.RLock()
        self._deltas: deque[TextDelta] = deque()
        self._changed = threading.Event()
        self._live = LiveTranscript()
        self._printed_text = ""  # the printed part of the current text
        self._all_text = ""  # all texts, in order
        self._is_first = True  # whether the next block is the first of its text
        self._above: list[str] = []
        self._status: tuple[str, ...] = ()
        self._closed = False
        self._painter = threading.Thread(target=self._keep_painting, name="painter", daemon=True)
        self._painter.start()

    # --- input ----------------------------------------------------------------------------------

    def on_delta(self, delta: TextDelta) -> None:
        """Queue a delta. Never blocks, not even on a terminal whose output is stopped."""
        if not self._closed:
            self._deltas.append(delta)
            self._changed.set()

    def on_reply(self, step: str, attempt: int, content: str) -> None:
        """Print the whole text of a step's reply, from the log."""
        with self._lock:
            self._apply_deltas()
            self._live.end(step, attempt)
            self._print_rest(printable(content))
            self._all_text += printable(content)
            self._paint()

    def on_failure(self, step: str, attempt: int) -> None:
        """Discard the text of a failed attempt."""
        with self._lock:
            self._apply_deltas()
            self._live.end(step, attempt)
            self._changed.set()

    def on_cancelled(self, step: str, attempt: int) -> None:
        """Keep the text of an attempt that the user cancelled."""
        with self._lock:
            self._print_rest(self._current_text())
            self._live.end(step, attempt)
            self._paint()

    def show_answer(self, text: str) -> None:
        """Print the turn's answer, unless it was the last text printed."""
        shown_text = printable(text)
        with self._lock:
            if not self._all_text.strip() or not self._all_text.strip().endswith(shown_text.strip()):
                self._print_rest(shown_text)
                self._all_text += shown_text
            self._paint()

    def end_turn(self) -> None:
        """Start afresh for the next turn."""
        with self._lock:
            self._all_text = ""
            self._start_text()

    def reset(self) -> None:
        """Print the text so far and forget the turn: another session is shown next."""
        with self._lock:
            self._print_rest(self._current_text())
            self._live, self._all_text, self._status = LiveTranscript(), "", ()
            self._paint()

    def print_line(self, text: str, *, dim: bool = False) -> None:
        """Print a text above the changing part, with long lines broken between words."""
        lines = flowed(text, self.width).split("\n")
        self.print_lines([click.style(line, dim=True) if dim else line for line in lines])

    @property
    def width(self) -> int:
        """How many columns a line may take."""
        return max(self._surface.size()[0] - 1, 8)

    def print_lines(self, lines: Sequence[str]) -> None:
        """Print lines above the changing part as they are: a diff, a command."""
        with self._lock:
            self._above += lines
            self._paint()

    def set_status(self, lines: Sequence[str]) -> None:
        """Replace the status lines at the bottom: one for each call that runs."""
        with self._lock:
            if not self._closed and self._status != tuple(lines):
                self._status = tuple(lines)
                self._changed.set()

    def close(self) -> None:
        """Print the text so far, remove the changing part and stop drawing."""
        with self._lock:
            if self._closed:
                return
            self._print_rest(self._current_text())
            self._status = ()
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
            time.sleep(REDRAW_SECONDS)

    def _apply_deltas(self) -> None:
        """Apply the queued deltas."""
        while self._deltas:
            self._live.add_delta(self._deltas.popleft())

    def _paint(self) -> None:
        columns, lines = self._surface.size()
        width = max(columns - 1, 8)
        below = [] if self._closed else self._open_block(width)
        doing = () if self._live.text else self._status  # streamed text needs no status
        status = [click.style(cut(line, width), dim=True) for line in doing]
        height = max(lines - UNUSED_LINES - len(status), 1)
        above, self._above = self._above, []
        self._surface.paint(above, [*below[-height:], *status])

    def _open_block(self, width: int) -> list[str]:
        """The lines of the growing block; finished blocks before it are printed."""
        text = self._current_text()
        if not text.startswith(self._printed_text):
            if self._printed_text.startswith(text):
                return []  # another attempt with the same text so far
            self._above.append(click.style(NEW_ANSWER_NOTICE, dim=True))
            self._start_text()
        finished, growing = complete_blocks(text[len(self._printed_text) :])
        for block in finished:
            self._print(block, width)
            self._printed_text += block
        lines = render(growing, width)
        return lines if self._is_first or not lines else ["", *lines]

    def _current_text(self) -> str:
        self._apply_deltas()
        return printable(self._live.text)

    def _print_rest(self, text: str) -> None:
        """Print the rest of a complete text."""
        width = max(self._surface.size()[0] - 1, 8)
        if not text.startswith(self._printed_text):
            if text.strip():
                self._above.append(click.style(NEW_ANSWER_NOTICE, dim=True))
            self._start_text()
        for block in blocks(text[len(self._printed_text) :]):
            self._print(block, width)
        self._start_text()

    def _print(self, block: str, width: int) -> None:
        lines = render(block, width)
        if lines:
            self._above += lines if self._is_first else ["", *lines]
            self._is_first = False

    def _start_text(self) -> None:
        self._printed_text, self._is_first = "", True


BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"  # synchronized output, if the terminal supports it
CLEAR_LINE, CLEAR_BELOW = "\x1b[K", "\x1b[J"


class TerminalSurface:
    """The `Surface` of a terminal with no other writer. The cursor stays behind the last line."""

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
        # Final lines may be longer than a row: the area below is cleared first.
        stays = CLEAR_BELOW + "".join(f"{line}\r\n" for line in above) if above else ""
        changes = "\r\n".join(f"{line}{CLEAR_LINE}" for line in below)
        self._out.write(f"{BEGIN}{start}{stays}{changes}{CLEAR_BELOW}{END}")
        self._out.flush()
        self._below = tuple(below)

    def _rows(self) -> int:
        """The number of rows of the changing lines: a narrower terminal has wrapped them."""
        columns = max(self.size()[0], 1)
        widths = (cell_len(click.unstyle(line)) for line in self._below)
        return sum(max(1, -(-width // columns)) for width in widths)


class TerminalOutput(LiveDisplay, TurnOutput):
    """The `TurnOutput` of a terminal. Notes go to standard error if that is not the terminal."""

    def print_line(self, text: str, *, dim: bool = False) -> None:
        """See `TurnOutput.print_line`."""
        if sys.stderr.isatty():
            super().print_line(text, dim=dim)
        else:
            click.echo(text, err=True)
