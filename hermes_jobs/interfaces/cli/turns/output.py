"""Outputs of a turn: plain text for pipes and files, lines of JSON, or a live display on a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence

import click
import msgspec

from hermes_jobs.interfaces.cli.output import echo_json, flowed, print_event, terminal_width
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.live import LiveTranscript, TextDelta
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.kernel.views.turn_json import TurnJson


class TurnOutput:
    """Prints one turn; the default methods do nothing. Called from several threads.

    Texts are as the model wrote them.
    """

    def on_delta(self, delta: TextDelta) -> None:
        """A delta of the answer's text."""

    def on_reply(self, step: str, attempt: int, content: str) -> None:
        """The reply of that step was recorded, with its complete text."""

    def on_failure(self, step: str, attempt: int) -> None:
        """That attempt has failed."""

    def show_answer(self, text: str) -> None:
        """The turn's answer."""

    def print_line(self, text: str, *, dim: bool = False) -> None:
        """Print a note, on a terminal broken between words."""

    def print_lines(self, lines: Sequence[str]) -> None:
        """Print lines as they are."""

    def set_status(self, lines: Sequence[str]) -> None:
        """Replace the status lines: the calls that run at this moment."""

    def close(self) -> None:
        """End the output."""


class PlainOutput(TurnOutput):
    """Standard output for the answer, as it comes; standard error for the rest."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._live = LiveTranscript()
        self._text = ""  # of the current text
        self._all = ""
        self._mid_line = False

    def on_delta(self, delta: TextDelta) -> None:
        """See `TurnOutput.on_delta`."""
        with self._lock:
            if self._live.add_delta(delta):
                self._write_up_to(self._live.text)

    def on_reply(self, step: str, attempt: int, content: str) -> None:
        """See `TurnOutput.on_reply`. Without deltas nothing is written; else the rest of the text."""
        with self._lock:
            if self._text and content.startswith(self._text):
                self._write_up_to(content)
            self._end(step, attempt)

    def on_failure(self, step: str, attempt: int) -> None:
        """See `TurnOutput.on_failure`."""
        with self._lock:
            self._end(step, attempt)

    def show_answer(self, text: str) -> None:
        """See `TurnOutput.show_answer`."""
        with self._lock:
            self._break_line()
            shown_text = printable(text)
            if not self._all.strip().endswith(shown_text.strip()) or not self._all:
                click.echo(shown_text if sys.stdout.isatty() else text)

    def print_line(self, text: str, *, dim: bool = False) -> None:
        """See `TurnOutput.print_line`."""
        with self._lock:
            self._break_line()
            message = flowed(text, terminal_width(sys.stderr))
            click.echo(click.style(message, dim=True) if dim else message, err=True)

    def print_lines(self, lines: Sequence[str]) -> None:
        """See `TurnOutput.print_lines`."""
        with self._lock:
            self._break_line()
            for line in lines:
                click.echo(line, err=True)

    def close(self) -> None:
        """See `TurnOutput.close`."""
        with self._lock:
            self._break_line()

    def _write_up_to(self, text: str) -> None:
        if not text.startswith(self._text):
            self._break_line()
            self._text = ""
        new_text = printable(text[len(self._text) :])
        click.echo(new_text, nl=False)
        sys.stdout.flush()
        self._text = text
        self._all += new_text
        self._mid_line = not text.endswith("\n")

    def _end(self, step: str, attempt: int) -> None:
        self._live.end(step, attempt)
        self._text = ""
        self._break_line()

    def _break_line(self) -> None:
        if self._mid_line:
            click.echo()
            self._mid_line = False


class TextLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """A delta of the model's text in one attempt, at offset `at` in characters."""

    turn: str
    step: str
    attempt: int
    at: int
    text: str


class TurnLines(TurnOutput):
    """The lines of one turn: `on_event` prints replies and failures, `print_turn` the answer."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._live = LiveTranscript()
        self._call = ""
        self._text = ""  # of that call's text

    def on_delta(self, delta: TextDelta) -> None:
        """See `TurnOutput.on_delta`."""
        with self._lock:
            if not self._live.add_delta(delta):
                return
            if delta.call != self._call:
                self._call, self._text = delta.call, ""
            self._print_up_to(delta.turn, delta.step, delta.attempt, self._live.text)

    def on_event(self, recorded: RecordedEvent) -> None:
        """Print an event of the turn, after the unprinted rest of a reply's text."""
        event = recorded.event
        with self._lock:
            if isinstance(event, e.ModelReplied) and self._text and event.content.startswith(self._text):
                self._print_up_to(event.turn, event.step, event.attempt, event.content)
            if isinstance(event, e.ModelReplied | e.ModelCallFailed):
                self._live.end(event.step, event.attempt)
                self._text = ""
            print_event(recorded)

    def print_turn(self, result: TurnJson) -> None:
        """Print the last line: the turn's result."""
        with self._lock:
            echo_json(b'{"type":"turn",' + msgspec.json.encode(result)[1:])

    def print_line(self, text: str, *, dim: bool = False) -> None:
        """See `TurnOutput.print_line`."""
        click.echo(text, err=True)

    def print_lines(self, lines: Sequence[str]) -> None:
        """See `TurnOutput.print_lines`."""
        for line in lines:
            click.echo(line, err=True)

    def _print_up_to(self, turn: str, step: str, attempt: int, text: str) -> None:
        length = len(self._text)
        if len(text) > length:
            line = TextLine(turn=turn, step=step, attempt=attempt, at=length, text=text[length:])
            echo_json(msgspec.json.encode(line))
            self._text = text
