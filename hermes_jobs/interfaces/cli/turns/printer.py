"""Prints a turn while it runs, and its end: the answer or its events on standard output, notes on standard
error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.interfaces.cli.moments import to_local
from hermes_jobs.interfaces.cli.options import OutputOptions
from hermes_jobs.interfaces.cli.output import one_line, print_json
from hermes_jobs.interfaces.cli.questions.input import InputQuestion, how_to_answer
from hermes_jobs.interfaces.cli.questions.open import AnyQuestion, OpenQuestions
from hermes_jobs.interfaces.cli.turns.failed_calls import failure_notice, quota_commands
from hermes_jobs.interfaces.cli.turns.output import PlainOutput, TurnLines, TurnOutput
from hermes_jobs.interfaces.cli.turns.progress import ProgressLines, call_details, call_summary
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.live import TextDelta
from hermes_jobs.kernel.turns.context_notices import notices
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.kernel.views.turn_json import TurnJson
from hermes_jobs.system.clock import Clock

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


class TurnPrinter:
    """Prints a turn's events and deltas as its options say. Called from several threads."""

    def __init__(self, submitted: Submitted, options: OutputOptions, clock: Clock, *, can_ask: bool) -> None:
        """`can_ask`: the waiting process asks the user for approvals itself."""
        self.options = options
        self._asks = can_ask
        self._turn = submitted.turn
        self._stream = submitted.stream
        self._version = 0
        self._has_begun = False  # whether an event of the turn came already
        self._lines = TurnLines() if options.form == "jsonl" else None
        self._output = self._lines if self._lines is not None else _create_output(options)
        self._progress = ProgressLines(self._dim, clock.now, self._show_diff)
        self._questions = OpenQuestions()
        self._shown_questions: set[str] = set()
        self._closed = False

    # --- while it runs --------------------------------------------------------------------------

    @property
    def turn(self) -> str:
        """The awaited turn: the submitted one, or the one it was merged into."""
        return self._turn

    def on_delta(self, delta: TextDelta) -> None:
        """Print a delta of the answer if text is streamed."""
        if self._closed or delta.turn != self._turn or delta.over:
            return
        if delta.tool:
            self._progress.on_progress(delta.step, delta.text)
            return
        self._progress.on_text(delta.step, delta.attempt)
        if self.options.stream:
            self._output.on_delta(delta)

    def on_events(self, events: Sequence[RecordedEvent]) -> None:
        """Print new events of the log, possibly none; events printed before are skipped."""
        for recorded in events:
            event = recorded.event
            if self._progress.children.follows(recorded.stream):
                self._progress.children.handle(recorded)
            if recorded.stream != self._stream or recorded.version <= self._version:
                continue
            self._version = recorded.version
            if not self._concerns(event):
                continue
            if self._lines is not None and not isinstance(event, e.SessionStarted):
                self._lines.on_event(recorded)
            self._handle(recorded)
            if isinstance(event, e.TurnMerged):
                self._turn = event.into  # whose end is its end
        self._note_questions()
        if self.options.rich:
            self._output.set_status(self._progress.running())
        elif self.options.progress:
            self._progress.report_slow()

    def _concerns(self, event: e.Event) -> bool:
        """Whether the event is the turn's, or begins the session for it."""
        is_own = getattr(event, "turn", None) == self._turn
        self._has_begun = self._has_begun or is_own
        return is_own or (self._has_begun and isinstance(event, e.SessionStarted))

    def catch_up(self, application: Application) -> None:
        """Print events without a notification: those before the wait, and the last ones."""
        self.on_events(application.log.read(self._stream, after=self._version))

    def _handle(self, recorded: RecordedEvent) -> None:
        event = recorded.event
        self._questions.handle(event)
        match event:
            case e.ModelReplied() if self.options.stream:
                self._output.on_reply(event.step, event.attempt, event.content)
            case e.ModelCallFailed():
                self._output.on_failure(event.step, event.attempt)
                self._note_failed_call(event, datetime.fromisoformat(recorded.recorded_at).timestamp())
            case e.ApprovalGiven(by=str(who)) | e.ApprovalDenied(by=str(who)) if who not in {
                "user",
                "timeout",
            }:
                self.note(f"· {'Allowed' if isinstance(event, e.ApprovalGiven) else 'Refused'} by {who}.")
            case e.ToolFinished(refused=True) if event.rule and not self.options.progress:
                self._note_refusal(event)
            case _:
                pass
        if self.options.progress or self.options.rich:
            self._progress.handle(recorded)
        else:
            for line in notices(event):  # also if answers are piped
                self.note(f"· {line}")

    def _note_refusal(self, finished: e.ToolFinished) -> None:
        call = self._questions.call(finished.call)
        text = call_summary(call.name, call.arguments) if call is not None else finished.call
        self.note(f"Refused: {text} ({finished.rule}).")

    def _note_failed_call(self, failed: e.ModelCallFailed, moment: float) -> None:
        """Print the fallback model, or the end of the turn's wait."""
        if text := failure_notice(failed, moment):
            self.note(text)
        if failed.quota_until is not None:
            for line in quota_commands(failed.turn):
                self.note(line)

    def questions(self, folder: str) -> Iterator[AnyQuestion]:
        """The questions of the turn's calls; `folder` is the session's."""
        return self._questions.listed(folder)

    def ask_elsewhere(self) -> None:
        """The user cannot be asked here any more: print how to answer instead."""
        self._asks = False
        self._note_questions()

    def show_question(self, lines: Sequence[str]) -> None:
        """Print a question, without changing lines below it."""
        self._output.set_status(())
        self._output.print_lines(lines)

    def _note_questions(self) -> None:
        """Print how to answer the calls that wait for a user, once."""
        if self._asks:
            return
        questions = list(self._questions.listed(""))
        several = len({input_question.call for input_question in questions}) > 1
        for question in questions:
            self._print_answer_commands("It waits", question, f" --call {question.call}" if several else "")

    def note_question(self, question: AnyQuestion) -> None:
        """Print how to answer a sub-agent's question, once."""
        if question.asker is not None:
            self._print_answer_commands(f"{question.asker.name} waits", question, f" --call {question.call}")

    def _print_answer_commands(self, asker: str, question: AnyQuestion, flag: str) -> None:
        if question.id in self._shown_questions:
            return
        self._shown_questions.add(question.id)
        turn = question.request.turn
        if isinstance(question, InputQuestion):
            self.print_line(f"{asker} for you ({question.request.asker} asks):")
            for line in how_to_answer(question.input_request, turn, flag):
                self.print_line(line)
            self.print_line(f"  W{question.without_answer[1:]}.")
            return
        until = to_local(datetime.fromtimestamp(question.expires_at, UTC))
        details = call_details(question.tool_call.name, question.tool_call.arguments)
        self.print_line(f"{asker} for you ({question.request.rule}): {details}")
        self.print_line(f"  allow it:  hermes-jobs turns approve {turn}{flag}")
        self.print_line(f"  refuse it: hermes-jobs turns deny {turn}{flag}")
        self.print_line(f"  Without an answer it is refused at {until:%H:%M:%S}.")

    # --- lines ----------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Print a note, unless the output is quiet."""
        if not self.options.quiet:
            self.print_line(text)

    def print_line(self, text: str) -> None:
        """Print an important line, also if the output is quiet."""
        self._output.print_line(printable(text))

    def footer(self, text: str) -> None:
        """Print the dim line below an answer."""
        self._output.print_line(text, dim=True)

    def _dim(self, line: str) -> None:
        if self.options.progress:
            self._output.print_line(one_line(line), dim=True)

    def _show_diff(self, lines: Sequence[str]) -> None:
        if self.options.rich or (self.options.progress and sys.stderr.isatty()):
            self._output.print_lines(lines)

    def close(self) -> None:
        """End the display; later deltas are ignored."""
        self._closed = True
        self._output.close()

    def end(self, result: TurnJson, *, is_done: bool) -> None:
        """Print the answer or the JSON result at the end of the wait."""
        if self.options.form == "text" and is_done and result.result is not None:
            self._output.show_answer(_shown(result))
        self._output.close()
        if self._lines is not None:
            self._lines.print_turn(result)
        elif self.options.form == "json":
            print_json(result)


def _shown(result: TurnJson) -> str:
    """The answer; a JSON document with its parts on lines of their own on a terminal."""
    if isinstance(result.structured, msgspec.Raw) and sys.stdout.isatty():
        return msgspec.json.format(bytes(result.structured), indent=2).decode()
    return result.result or ""


def _create_output(options: OutputOptions) -> TurnOutput:
    if not options.rich:
        return PlainOutput()
    from hermes_jobs.interfaces.cli.turns.live_display import TerminalOutput, TerminalSurface

    return TerminalOutput(TerminalSurface(sys.stdout))
