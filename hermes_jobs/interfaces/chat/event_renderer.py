"""What a chat shows of a session's events, as lines and texts on its stage."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from hermes_jobs.domain import events as e
from hermes_jobs.domain.session.titles import printable
from hermes_jobs.engine.live import TextDelta
from hermes_jobs.engine.ports import Clock
from hermes_jobs.eventlog.log import RecordedEvent
from hermes_jobs.interfaces.cli.failed_calls import told_of
from hermes_jobs.interfaces.cli.live_display import Stage
from hermes_jobs.interfaces.cli.output import one_line
from hermes_jobs.interfaces.cli.progress import Progress, called_whole
from hermes_jobs.interfaces.cli.zones import local

PROMPT = "› "


class Telling:
    """Hears a session's events in order. For one thread at a time."""

    def __init__(self, stage: Stage, clock: Clock) -> None:
        self._stage = stage
        self._progress = Progress(lambda line: stage.line(one_line(line), dim=True), clock.now)
        self._calls: dict[str, str] = {}
        self._typed: set[str] = set()
        self._running: str | None = None

    def expect(self, turn: str) -> None:
        """That turn's text was typed here, and stands on the screen already."""
        self._typed.add(turn)

    def asked(self, text: str) -> None:
        """Something that the user has said."""
        first, *more = printable(text).splitlines() or [""]
        self._stage.line(
            "\n".join([f"{click.style(PROMPT, bold=True)}{first}", *(f"  {each}" for each in more)])
        )

    def look(self) -> None:
        """Show what is under way by now."""
        self._stage.doing(self._progress.under_way() if self._running else ())

    def heard(self, piece: TextDelta) -> None:
        """A piece of what is being said; from any thread."""
        if not piece.over:
            self._progress.text_heard(piece.step, piece.attempt)
            self._stage.hear(piece)

    def hear(self, recorded: RecordedEvent) -> None:  # noqa: PLR0912 - one case a fact
        """One more event."""
        event, stage = recorded.event, self._stage
        self._progress.hear(recorded)
        match event:
            case e.TurnSubmitted() if event.turn not in self._typed:
                self.asked(event.text)
            case e.TurnSubmitted() if self._running is not None:
                self._dim(f"· it waits for the turn before it ({event.if_busy})")
            case e.ContextPrefetched() | e.TurnResumed():
                self._running = event.turn
            case e.ModelReplied():
                stage.said(event.step, event.attempt, event.content)
                for asked, planned in zip(event.tool_calls, event.plan, strict=False):
                    self._calls[planned.call] = called_whole(asked.name, asked.arguments)
            case e.ModelCallFailed(kind="cancelled"):
                stage.stopped(event.step, event.attempt)
            case e.ModelCallFailed():
                stage.failed(event.step, event.attempt)
                self._tell_of(event, datetime.fromisoformat(recorded.recorded_at).timestamp())
            case e.StepAbandoned() if event.reason == "died":
                self._dim("· a worker has ended; another goes on")
            case e.ApprovalRequested():
                self._ask(event)
            case e.TurnCompleted():
                stage.answer(event.answer)
                self._over(event.turn, f"(stopped: {event.stopped_by})" if event.stopped_by else "")
            case e.TurnFailed():
                self._over(event.turn, f"{click.style('Error:', fg='red')} {printable(event.message)}")
                self._dim(f"{event.hint} /retry goes on with it.".strip())
            case e.TurnCancelled():
                self._over(event.turn, "Cancelled." if event.by != "interrupt" else "Interrupted.")
            case e.CompressionRequested():
                self._dim("· the older part of the conversation is being compressed")
            case e.TurnMerged():
                self._dim("· it has become part of another turn")
            case _:
                pass

    def _tell_of(self, failed: e.ModelCallFailed, at: float) -> None:
        if told := told_of(failed, at):
            self._stage.line(told)
        if failed.quota_until is not None:
            self._stage.line("  /model NAME goes on with another model, Ctrl-C or /stop cancels it.")

    def _ask(self, event: e.ApprovalRequested) -> None:
        until = local(datetime.fromtimestamp(event.expires_at, UTC))
        self._stage.line(
            f"It waits for you ({event.rule}): {self._calls.get(event.call, event.call)}\n"
            f"  /approve or /deny (with {event.call} where several wait); refused at {until:%H:%M:%S}."
        )

    def _over(self, turn: str, told: str) -> None:
        self._running = None if self._running == turn else self._running
        self._stage.doing(())
        self._stage.turn_ended()
        self._stage.line(f"{told}\n" if told else "")

    def _dim(self, text: str) -> None:
        if text:
            self._stage.line(printable(text), dim=True)
