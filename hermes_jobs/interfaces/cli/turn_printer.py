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
from hermes_jobs.interfaces.cli.failed_calls import how_to_move, told_of
from hermes_jobs.interfaces.cli.output import one_line, print_json
from hermes_jobs.interfaces.cli.output_options import Style
from hermes_jobs.interfaces.cli.progress import Progress, called_whole
from hermes_jobs.interfaces.cli.turn_output import Page, PlainPage, TerminalPage
from hermes_jobs.interfaces.cli.zones import local
from hermes_jobs.views.turn_json import TurnResult


class Shown:
    """Hears of a turn, in order, and prints what its style asks for. Heard from several threads."""

    def __init__(self, submitted: Submitted, style: Style, clock: Clock) -> None:
        self.style = style
        self._turn = submitted.turn
        self._stream = submitted.stream
        self._version = 0
        self._page = _page(style)
        self._progress = Progress(self._dim, clock.now)
        self._calls: dict[str, str] = {}
        self._waiting: dict[str, e.ApprovalRequested] = {}
        self._asked: set[str] = set()
        self._closed = False

    # --- while it runs --------------------------------------------------------------------------

    @property
    def turn(self) -> str:
        """The turn whose answer is waited for: the one submitted, or what it was merged into."""
        return self._turn

    def heard(self, piece: TextDelta) -> None:
        """A piece of an answer's text."""
        if self._closed or piece.turn != self._turn or piece.over:
            return
        self._progress.text_heard(piece.step, piece.attempt)
        if self.style.stream:
            self._page.hear(piece)

    def news(self, events: Sequence[RecordedEvent]) -> None:
        """What stands in the log since the last time, or nothing; what was shown before is passed over."""
        for recorded in events:
            event = recorded.event
            if recorded.stream != self._stream or recorded.version <= self._version:
                continue
            self._version = recorded.version
            if getattr(event, "turn", None) != self._turn:
                continue
            if self.style.form == "jsonl":
                print_event(recorded)
            self._hear(recorded)
            if isinstance(event, e.TurnMerged):
                self._turn = event.into  # whose end is its end
        self._ask()
        if self.style.rich:
            self._page.doing(self._progress.under_way())
        elif self.style.progress:
            self._progress.look()

    def catch_up(self, log: EventLog) -> None:
        """Take in what nobody told: from before the waiting, and from its last moment."""
        self.news(log.read(self._stream, after=self._version))

    def _hear(self, recorded: RecordedEvent) -> None:
        event = recorded.event
        match event:
            case e.ModelReplied(tool_calls=calls, plan=plan):
                if self.style.stream:
                    self._page.said(event.step, event.attempt, event.content)
                for asked, planned in zip(calls, plan, strict=False):
                    self._calls[planned.call] = called_whole(asked.name, asked.arguments)
            case e.ModelCallFailed():
                self._page.failed(event.step, event.attempt)
                self._tell_of(event, datetime.fromisoformat(recorded.recorded_at).timestamp())
            case e.ApprovalRequested():
                self._waiting[event.call] = event
            case e.ApprovalGiven() | e.ApprovalDenied() | e.ToolInterrupted():
                self._waiting.pop(event.call, None)
            case _:
                pass
        if self.style.progress or self.style.rich:
            self._progress.hear(recorded)
        else:
            for line in notices(event):  # where answers are piped, too
                self.note(f"· {line}")

    def _tell_of(self, failed: e.ModelCallFailed, at: float) -> None:
        """Say which other model answers, or until when the turn waits."""
        if told := told_of(failed, at):
            self.note(told)
        if failed.quota_until is not None:
            for line in how_to_move(failed.turn):
                self.note(line)

    def _ask(self) -> None:
        """Say how to answer the calls that wait for a person, once."""
        fresh = [request for call, request in self._waiting.items() if call not in self._asked]
        self._asked.update(self._waiting)
        for request in fresh:
            flag = f" --call {request.call}" if len(self._waiting) > 1 else ""
            until = local(datetime.fromtimestamp(request.expires_at, UTC))
            self.note(f"It waits for you ({request.rule}): {self._calls.get(request.call, request.call)}")
            self.note(f"  allow it:  hermes-jobs turns approve {request.turn}{flag}")
            self.note(f"  refuse it: hermes-jobs turns deny {request.turn}{flag}")
            self.note(f"  Without an answer it is refused at {until:%H:%M:%S}.")

    # --- lines ----------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Something for the person; not where quiet is wanted."""
        if not self.style.quiet:
            self.say(text)

    def say(self, text: str) -> None:
        """Something that the person has to know, on a line of its own."""
        self._page.line(printable(text))

    def _dim(self, line: str) -> None:
        if self.style.progress:
            self._page.line(one_line(line), dim=True)

    def close(self) -> None:
        """Leave on the terminal what stays; nothing of an answer is shown any more."""
        self._closed = True
        self._page.close()

    def end(self, result: TurnResult, *, done: bool) -> None:
        """The turn as it stands when the waiting ends."""
        if self.style.form == "text" and done and result.result is not None:
            self._page.answer(result.result)
        self._page.close()
        if self.style.form == "json":
            print_json(result)


def _page(style: Style) -> Page:
    if not style.rich:
        return PlainPage()
    from hermes_jobs.interfaces.cli.live_display import Stage
    from hermes_jobs.interfaces.cli.terminal import TerminalSurface

    return TerminalPage(Stage(TerminalSurface(sys.stdout)))
