"""What is printed while a turn runs, and at its end: the answer or its events on standard output, the rest
beside it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from hermes_jobs.domain import events as e
from hermes_jobs.domain.session.context_notices import notices
from hermes_jobs.domain.session.titles import printable
from hermes_jobs.engine.engine import Submitted
from hermes_jobs.engine.live import TextDelta
from hermes_jobs.engine.ports import Clock
from hermes_jobs.eventlog.log import EventLog, RecordedEvent
from hermes_jobs.interfaces.cli.event_line import print_event
from hermes_jobs.interfaces.cli.failed_calls import failure_notice, quota_commands
from hermes_jobs.interfaces.cli.options import OutputOptions
from hermes_jobs.interfaces.cli.output import one_line, print_json
from hermes_jobs.interfaces.cli.progress import ProgressLines, call_details
from hermes_jobs.interfaces.cli.turn_output import PlainOutput, TurnOutput
from hermes_jobs.interfaces.cli.zones import to_local
from hermes_jobs.views.turn_json import TurnJson


class TurnPrinter:
    """Prints a turn's events and deltas as its options say. Called from several threads."""

    def __init__(self, submitted: Submitted, options: OutputOptions, clock: Clock) -> None:
        self.options = options
        self._turn = submitted.turn
        self._stream = submitted.stream
        self._version = 0
        self._output = _create_output(options)
        self._progress = ProgressLines(self._dim, clock.now)
        self._calls: dict[str, str] = {}
        self._waiting: dict[str, e.ApprovalRequested] = {}
        self._asked: set[str] = set()
        self._closed = False

    # --- while it runs --------------------------------------------------------------------------

    @property
    def turn(self) -> str:
        """The turn whose answer is waited for: the one submitted, or what it was merged into."""
        return self._turn

    def on_delta(self, piece: TextDelta) -> None:
        """Print a delta of the answer where text is streamed."""
        if self._closed or piece.turn != self._turn or piece.over:
            return
        self._progress.on_text(piece.step, piece.attempt)
        if self.options.stream:
            self._output.on_delta(piece)

    def on_events(self, events: Sequence[RecordedEvent]) -> None:
        """Print new events of the log, possibly none; events printed before are skipped."""
        for recorded in events:
            event = recorded.event
            if recorded.stream != self._stream or recorded.version <= self._version:
                continue
            self._version = recorded.version
            if getattr(event, "turn", None) != self._turn:
                continue
            if self.options.form == "jsonl":
                print_event(recorded)
            self._handle(recorded)
            if isinstance(event, e.TurnMerged):
                self._turn = event.into  # whose end is its end
        self._note_approvals()
        if self.options.rich:
            self._output.set_status(self._progress.running())
        elif self.options.progress:
            self._progress.report_slow()

    def catch_up(self, log: EventLog) -> None:
        """Print the events that no notification brought: those before the wait, and the last ones."""
        self.on_events(log.read(self._stream, after=self._version))

    def _handle(self, recorded: RecordedEvent) -> None:
        event = recorded.event
        match event:
            case e.ModelReplied(tool_calls=calls, plan=plan):
                if self.options.stream:
                    self._output.on_reply(event.step, event.attempt, event.content)
                for asked, planned in zip(calls, plan, strict=False):
                    self._calls[planned.call] = call_details(asked.name, asked.arguments)
            case e.ModelCallFailed():
                self._output.on_failure(event.step, event.attempt)
                self._note_failed_call(event, datetime.fromisoformat(recorded.recorded_at).timestamp())
            case e.ApprovalRequested():
                self._waiting[event.call] = event
            case e.ApprovalGiven() | e.ApprovalDenied() | e.ToolInterrupted():
                self._waiting.pop(event.call, None)
            case _:
                pass
        if self.options.progress or self.options.rich:
            self._progress.handle(recorded)
        else:
            for line in notices(event):  # where answers are piped, too
                self.note(f"· {line}")

    def _note_failed_call(self, failed: e.ModelCallFailed, at: float) -> None:
        """Say which other model answers, or until when the turn waits."""
        if told := failure_notice(failed, at):
            self.note(told)
        if failed.quota_until is not None:
            for line in quota_commands(failed.turn):
                self.note(line)

    def _note_approvals(self) -> None:
        """Say how to answer the calls that wait for a person, once."""
        fresh = [request for call, request in self._waiting.items() if call not in self._asked]
        self._asked.update(self._waiting)
        for request in fresh:
            flag = f" --call {request.call}" if len(self._waiting) > 1 else ""
            until = to_local(datetime.fromtimestamp(request.expires_at, UTC))
            self.note(f"It waits for you ({request.rule}): {self._calls.get(request.call, request.call)}")
            self.note(f"  allow it:  hermes-jobs turns approve {request.turn}{flag}")
            self.note(f"  refuse it: hermes-jobs turns deny {request.turn}{flag}")
            self.note(f"  Without an answer it is refused at {until:%H:%M:%S}.")

    # --- lines ----------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Print a note, unless the output is quiet."""
        if not self.options.quiet:
            self.say(text)

    def say(self, text: str) -> None:
        """Print a line that the user has to see, also where the output is quiet."""
        self._output.print_line(printable(text))

    def _dim(self, line: str) -> None:
        if self.options.progress:
            self._output.print_line(one_line(line), dim=True)

    def close(self) -> None:
        """End the display; later deltas are ignored."""
        self._closed = True
        self._output.close()

    def end(self, result: TurnJson, *, done: bool) -> None:
        """Print the answer or the JSON result at the end of the wait."""
        if self.options.form == "text" and done and result.result is not None:
            self._output.show_answer(result.result)
        self._output.close()
        if self.options.form == "json":
            print_json(result)


def _create_output(options: OutputOptions) -> TurnOutput:
    if not options.rich:
        return PlainOutput()
    from hermes_jobs.interfaces.cli.live_display import TerminalOutput, TerminalSurface

    return TerminalOutput(TerminalSurface(sys.stdout))
