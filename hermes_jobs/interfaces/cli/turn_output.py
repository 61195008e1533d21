"""Where a turn is told: plain text for pipes and files, or a terminal on which it is drawn."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import click

from hermes_jobs.domain.session.titles import printable
from hermes_jobs.engine.live import LiveTranscript, TextDelta

if TYPE_CHECKING:
    from hermes_jobs.interfaces.cli.live_display import Stage


class Page(Protocol):
    """What a turn is told on. Heard from several threads; texts are as they were said."""

    def hear(self, piece: TextDelta) -> None:
        """A piece of what is being said."""

    def said(self, step: str, attempt: int, content: str) -> None:
        """The log has what was said at that step."""

    def failed(self, step: str, attempt: int) -> None:
        """That attempt has failed."""

    def answer(self, text: str) -> None:
        """The turn's answer."""

    def line(self, text: str, *, dim: bool = False) -> None:
        """Something beside the answer, on a line of its own."""

    def doing(self, lines: Sequence[str]) -> None:
        """What is under way at this moment."""

    def close(self) -> None:
        """The waiting is over."""


class PlainPage:
    """Standard output for the answer, as it comes; standard error for the rest."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._live = LiveTranscript()
        self._written = ""  # of the speech under way
        self._all = ""
        self._mid_line = False

    def hear(self, piece: TextDelta) -> None:
        """See `Page.hear`."""
        with self._lock:
            if self._live.hear(piece):
                self._write_up_to(self._live.text)

    def said(self, step: str, attempt: int, content: str) -> None:
        """See `Page.said`. What of it was lost on the way is written; nothing, where nothing was heard."""
        with self._lock:
            if self._written and content.startswith(self._written):
                self._write_up_to(content)
            self._end(step, attempt)

    def failed(self, step: str, attempt: int) -> None:
        """See `Page.failed`."""
        with self._lock:
            self._end(step, attempt)

    def answer(self, text: str) -> None:
        """See `Page.answer`."""
        with self._lock:
            self._break_line()
            shown = printable(text)
            if not self._all.strip().endswith(shown.strip()) or not self._all:
                click.echo(shown if sys.stdout.isatty() else text)

    def line(self, text: str, *, dim: bool = False) -> None:
        """See `Page.line`."""
        with self._lock:
            self._break_line()
            click.echo(click.style(text, dim=True) if dim else text, err=True)

    def doing(self, lines: Sequence[str]) -> None:
        """Nothing that may still change is written."""

    def close(self) -> None:
        """See `Page.close`."""
        with self._lock:
            self._break_line()

    def _write_up_to(self, text: str) -> None:
        if not text.startswith(self._written):
            self._break_line()
            self._written = ""
        fresh = printable(text[len(self._written) :])
        click.echo(fresh, nl=False)
        sys.stdout.flush()
        self._written = text
        self._all += fresh
        self._mid_line = not text.endswith("\n")

    def _end(self, step: str, attempt: int) -> None:
        self._live.end(step, attempt)
        self._written = ""
        self._break_line()

    def _break_line(self) -> None:
        if self._mid_line:
            click.echo()
            self._mid_line = False


class TerminalPage:
    """A terminal, on which the answer is drawn; the rest too, unless standard error is another place."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.hear = stage.hear
        self.said = stage.said
        self.failed = stage.failed
        self.answer = stage.answer
        self.doing = stage.doing
        self.close = stage.close

    def line(self, text: str, *, dim: bool = False) -> None:
        """See `Page.line`."""
        if sys.stderr.isatty():
            self._stage.line(text, dim=dim)
        else:
            click.echo(text, err=True)
