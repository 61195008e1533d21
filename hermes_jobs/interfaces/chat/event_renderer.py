"""Renders a session's events on the live display of a chat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

import click

from hermes_jobs.interfaces.cli.output import footer_line, one_line
from hermes_jobs.interfaces.cli.questions.open import AnyQuestion, OpenQuestions
from hermes_jobs.interfaces.cli.turns.delivered_files import delivered_lines
from hermes_jobs.interfaces.cli.turns.failed_calls import failure_notice
from hermes_jobs.interfaces.cli.turns.live_display import LiveDisplay
from hermes_jobs.interfaces.cli.turns.progress import ProgressLines
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.live import TextDelta
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.stops import stop_sentence
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.kernel.views.tree import Tree
from hermes_jobs.kernel.views.turn_json import milliseconds
from hermes_jobs.system.clock import Clock

PROMPT = "› "
TYPING_HINT = "one key answers; to write something else, start with a space"
MAX_SHOWN_LINES = 10  # of a message that was not typed here: files and outputs may go with it


class EventRenderer:
    """Renders a session's events, in order. For one thread at a time."""

    def __init__(
        self,
        display: LiveDisplay,
        clock: Clock,
        folder: Callable[[], str],
        tree_below: Callable[[str], Tree] | None,
    ) -> None:
        """`folder()` is the agent's working folder; `tree_below(turn)` the figures of the turn for the line
        below its answer."""
        self._tree_below = tree_below
        self._begun_at = ""
        self._display = display
        self._folder = folder
        self._progress = ProgressLines(
            lambda line: display.print_line(one_line(line), dim=True),
            clock.now,
            display.print_lines,
        )
        self._questions = OpenQuestions()
        self._question_shown = ""  # the shown question
        self._typed: set[str] = set()
        self._running_turn: str | None = None
        self._delivered: dict[Attachment, None] = {}

    def expect(self, turn: str) -> None:
        """Skip that turn's text: it was typed here and is on the screen."""
        self._typed.add(turn)

    def show_prompt(self, text: str, *, maximum: int | None = None) -> None:
        """Print a user's message, at most `maximum` lines of it."""
        first, *more = printable(text).splitlines() or [""]
        if maximum is not None and len(more) >= maximum:
            more = [*more[: maximum - 1], f"… {len(more) - maximum + 1} more lines"]
        self._display.print_line(
            "\n".join([f"{click.style(PROMPT, bold=True)}{first}", *(f"  {line}" for line in more)])
        )

    def refresh_status(self) -> None:
        """Update the status lines."""
        self._display.set_status(self._progress.running() if self._running_turn else ())

    def on_delta(self, delta: TextDelta) -> None:
        """Show a delta; from any thread."""
        if delta.tool:
            self._progress.on_progress(delta.step, delta.text)
        elif not delta.over:
            self._progress.on_text(delta.step, delta.attempt)
            self._display.on_delta(delta)

    def follows(self, stream: str) -> bool:
        """Whether that is the stream of a sub-agent of the session."""
        return self._progress.children.follows(stream)

    def handle_child(self, recorded: RecordedEvent) -> None:
        """Handle one event of a sub-agent for the status lines."""
        self._progress.children.handle(recorded)

    def handle(self, recorded: RecordedEvent) -> None:  # noqa: PLR0912 - one case an event
        """Render one event."""
        event, display = recorded.event, self._display
        self._progress.handle(recorded)
        self._questions.handle(event)
        match event:
            case e.TurnSubmitted() if event.turn not in self._typed:
                self.show_prompt(event.text, maximum=MAX_SHOWN_LINES)
            case e.TurnSubmitted() if self._running_turn is not None:
                self._dim(f"· it waits for the turn before it ({event.if_busy})")
            case e.ContextPrefetched() | e.TurnResumed():
                self._running_turn, self._begun_at = event.turn, recorded.recorded_at
            case e.ModelReplied():
                display.on_reply(event.step, event.attempt, event.content)
            case e.ModelCallFailed(kind="cancelled"):
                display.on_cancelled(event.step, event.attempt)
            case e.ModelCallFailed():
                display.on_failure(event.step, event.attempt)
                self._note_failed_call(event, datetime.fromisoformat(recorded.recorded_at).timestamp())
            case e.StepAbandoned() if event.reason == "died":
                self._dim("· a worker stopped; another one continues")
            case e.FilesDelivered():
                self._delivered |= dict.fromkeys(event.attachments)
            case e.TurnCompleted():
                display.show_answer(event.answer)
                for line in delivered_lines(event.turn, tuple(self._delivered)):
                    display.print_line(line)
                if self._tree_below is not None and self._begun_at:
                    seconds = milliseconds(self._begun_at, recorded.recorded_at) / 1000
                    display.print_line(footer_line(seconds, self._tree_below(event.turn)), dim=True)
                text = f"{stop_sentence(event.stopped_by)} /continue continues." if event.stopped_by else ""
                self._end_turn(event.turn, text)
            case e.TurnFailed():
                text = "\n".join(filter(None, [event.message, event.hint, "/retry continues with it."]))
                self._end_turn(event.turn, f"{click.style('Error:', fg='red')} {printable(text)}")
            case e.TurnCancelled():
                self._end_turn(event.turn, "Cancelled." if event.by != "interrupt" else "Interrupted.")
            case e.CompressionRequested() if event.reason != "idle":
                self._dim("· compressing the older part of the conversation")
            case e.TurnMerged():
                self._dim("· it was merged into another turn")
            case _:
                pass

    def _note_failed_call(self, failed: e.ModelCallFailed, moment: float) -> None:
        if text := failure_notice(failed, moment):
            self._display.print_line(text)
        if failed.quota_until is not None:
            self._display.print_line(
                "  /model NAME continues with another model, Ctrl-C or /stop cancels it."
            )

    def questions(self) -> Iterator[AnyQuestion]:
        """The open questions."""
        return self._questions.listed(self._folder())

    def ask(self, question: AnyQuestion | None) -> None:
        """Show the open question, once."""
        if question is None or question.id == self._question_shown:
            return
        self._question_shown = question.id
        self._display.print_lines(question.lines(self._display.width))
        hint = f"\n  {TYPING_HINT}" if question.keys else ""
        self._display.print_line(f"  {question.notes()}{hint}", dim=True)
        self._display.print_line(f"  It waits for you: {question.legend()}")

    def _end_turn(self, turn: str, text: str) -> None:
        self._running_turn = None if self._running_turn == turn else self._running_turn
        self._delivered = {}
        self._display.set_status(())
        self._display.end_turn()
        self._display.print_line(f"{text}\n" if text else "")

    def _dim(self, text: str) -> None:
        if text:
            self._display.print_line(printable(text), dim=True)
