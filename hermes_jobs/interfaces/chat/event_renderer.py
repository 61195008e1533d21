"""What a chat shows of a session's events, as lines and texts on its live display."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from hermes_jobs.domain import events as e
from hermes_jobs.domain.session.titles import printable
from hermes_jobs.engine.live import TextDelta
from hermes_jobs.engine.ports import Clock
from hermes_jobs.eventlog.log import RecordedEvent
from hermes_jobs.interfaces.cli.failed_calls import failure_notice
from hermes_jobs.interfaces.cli.live_display import LiveDisplay
from hermes_jobs.interfaces.cli.output import one_line
from hermes_jobs.interfaces.cli.progress import ProgressLines, call_details
from hermes_jobs.interfaces.cli.zones import to_local

PROMPT = "› "


class EventRenderer:
    """Renders a session's events, in order. For one thread at a time."""

    def __init__(self, display: LiveDisplay, clock: Clock) -> None:
        self._display = display
        self._progress = ProgressLines(lambda line: display.print_line(one_line(line), dim=True), clock.now)
        self._calls: dict[str, str] = {}
        self._typed: set[str] = set()
        self._running: str | None = None

    def expect(self, turn: str) -> None:
        """Skip that turn's text: it was typed here and is on the screen."""
        self._typed.add(turn)

    def show_prompt(self, text: str) -> None:
        """Print a message of the user."""
        first, *more = printable(text).splitlines() or [""]
        self._display.print_line(
            "\n".join([f"{click.style(PROMPT, bold=True)}{first}", *(f"  {each}" for each in more)])
        )

    def refresh_status(self) -> None:
        """Update the status lines."""
        self._display.set_status(self._progress.running() if self._running else ())

    def on_delta(self, piece: TextDelta) -> None:
        """Show a delta; from any thread."""
        if not piece.over:
            self._progress.on_text(piece.step, piece.attempt)
            self._display.on_delta(piece)

    def handle(self, recorded: RecordedEvent) -> None:  # noqa: PLR0912 - one case an event
        """Render one event."""
        event, display = recorded.event, self._display
        self._progress.handle(recorded)
        match event:
            case e.TurnSubmitted() if event.turn not in self._typed:
                self.show_prompt(event.text)
            case e.TurnSubmitted() if self._running is not None:
                self._dim(f"· it waits for the turn before it ({event.if_busy})")
            case e.ContextPrefetched() | e.TurnResumed():
                self._running = event.turn
            case e.ModelReplied():
                display.on_reply(event.step, event.attempt, event.content)
                for asked, planned in zip(event.tool_calls, event.plan, strict=False):
                    self._calls[planned.call] = call_details(asked.name, asked.arguments)
            case e.ModelCallFailed(kind="cancelled"):
                display.on_cancelled(event.step, event.attempt)
            case e.ModelCallFailed():
                display.on_failure(event.step, event.attempt)
                self._note_failed_call(event, datetime.fromisoformat(recorded.recorded_at).timestamp())
            case e.StepAbandoned() if event.reason == "died":
                self._dim("· a worker has ended; another goes on")
            case e.ApprovalRequested():
                self._note_approval(event)
            case e.TurnCompleted():
                display.show_answer(event.answer)
                self._end_turn(event.turn, f"(stopped: {event.stopped_by})" if event.stopped_by else "")
            case e.TurnFailed():
                self._end_turn(event.turn, f"{click.style('Error:', fg='red')} {printable(event.message)}")
                self._dim(f"{event.hint} /retry goes on with it.".strip())
            case e.TurnCancelled():
                self._end_turn(event.turn, "Cancelled." if event.by != "interrupt" else "Interrupted.")
            case e.CompressionRequested():
                self._dim("· the older part of the conversation is being compressed")
            case e.TurnMerged():
                self._dim("· it has become part of another turn")
            case _:
                pass

    def _note_failed_call(self, failed: e.ModelCallFailed, at: float) -> None:
        if told := failure_notice(failed, at):
            self._display.print_line(told)
        if failed.quota_until is not None:
            self._display.print_line("  /model NAME goes on with another model, Ctrl-C or /stop cancels it.")

    def _note_approval(self, event: e.ApprovalRequested) -> None:
        until = to_local(datetime.fromtimestamp(event.expires_at, UTC))
        self._display.print_line(
            f"It waits for you ({event.rule}): {self._calls.get(event.call, event.call)}\n"
            f"  /approve or /deny (with {event.call} where several wait); refused at {until:%H:%M:%S}."
        )

    def _end_turn(self, turn: str, told: str) -> None:
        self._running = None if self._running == turn else self._running
        self._display.set_status(())
        self._display.end_turn()
        self._display.print_line(f"{told}\n" if told else "")

    def _dim(self, text: str) -> None:
        if text:
            self._display.print_line(printable(text), dim=True)
