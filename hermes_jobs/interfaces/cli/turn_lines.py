"""Lines of `--jsonl`: a turn's events, the text of its replies as it arrives, and the turn at the end.

What they mean stands in `help json`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import click
import msgspec

from hermes_jobs.domain import events as e
from hermes_jobs.engine.live import LiveTranscript, TextDelta
from hermes_jobs.eventlog.log import RecordedEvent
from hermes_jobs.interfaces.cli.output import echo_json, print_event
from hermes_jobs.views.turn_json import TurnJson


class TextLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """A piece of what the model says in one attempt; `at` characters of that attempt stand before it."""

    turn: str
    step: str
    attempt: int
    at: int
    text: str


class TurnLines:
    """The lines of one turn. Called from several threads; see `TurnOutput`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._live = LiveTranscript()
        self._call = ""
        self._told = ""  # of that call's text

    def on_delta(self, piece: TextDelta) -> None:
        """See `TurnOutput.on_delta`."""
        with self._lock:
            if not self._live.hear(piece):
                return
            if piece.call != self._call:
                self._call, self._told = piece.call, ""
            self._print_up_to(piece.turn, piece.step, piece.attempt, self._live.text)

    def on_event(self, recorded: RecordedEvent) -> None:
        """Print one more event of the turn; what was not told of a reply's text comes before it."""
        event = recorded.event
        with self._lock:
            if isinstance(event, e.ModelReplied) and self._told and event.content.startswith(self._told):
                self._print_up_to(event.turn, event.step, event.attempt, event.content)
            if isinstance(event, e.ModelReplied | e.ModelCallFailed):
                self._live.end(event.step, event.attempt)
                self._told = ""
            print_event(recorded)

    def print_turn(self, result: TurnJson) -> None:
        """Print the last line: how the turn stands."""
        with self._lock:
            echo_json(b'{"type":"turn",' + msgspec.json.encode(result)[1:])

    def on_reply(self, step: str, attempt: int, content: str) -> None:
        """Does nothing: `on_event` has told it."""

    def on_failure(self, step: str, attempt: int) -> None:
        """Does nothing: `on_event` has told it."""

    def show_answer(self, text: str) -> None:
        """Does nothing: `print_turn` has it."""

    def print_line(self, text: str, *, dim: bool = False) -> None:
        """See `TurnOutput.print_line`."""
        click.echo(text, err=True)

    def print_lines(self, lines: Sequence[str]) -> None:
        """See `TurnOutput.print_lines`."""
        for line in lines:
            click.echo(line, err=True)

    def set_status(self, lines: Sequence[str]) -> None:
        """Does nothing: status lines are for terminals."""

    def close(self) -> None:
        """Does nothing: every line is whole."""

    def _print_up_to(self, turn: str, step: str, attempt: int, text: str) -> None:
        at = len(self._told)
        if len(text) > at:
            line = TextLine(turn=turn, step=step, attempt=attempt, at=at, text=text[at:])
            echo_json(msgspec.json.encode(line))
            self._told = text
