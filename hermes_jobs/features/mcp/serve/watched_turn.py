"""Watches one turn for a client of the MCP server: its end, questions and progress."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hermes_jobs.bootstrap import Application
from hermes_jobs.interfaces.cli.questions.children import questions_of
from hermes_jobs.interfaces.cli.questions.open import AnyQuestion
from hermes_jobs.interfaces.cli.turns.progress import ProgressLines
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.kernel.turns.waiting import last_turn, waits_for_person


class TurnState(Struct, frozen=True, kw_only=True):
    """The state of a turn: its open questions, and the lines of progress since the last poll.

    `is_held`: it is blocked until a user answers.
    """

    is_over: bool
    is_held: bool
    questions: tuple[AnyQuestion, ...]
    progress: tuple[str, ...]


class WatchedTurn:
    """Polls one turn. For one thread at a time."""

    def __init__(self, application: Application, submitted: Submitted) -> None:
        self.submitted = submitted
        self._clock = application.clock
        self._engine = application.engine()
        self._position = application.log.last_position()
        self._lines: list[str] = []
        self._progress = ProgressLines(self._lines.append, application.clock.now)

    def poll(self, seconds: float = 0.0) -> TurnState:
        """The turn's state, after an event of the log or `seconds`. Raises `LogUnavailable`."""
        log = self._engine.log
        if seconds > 0:
            log.wait(self._position, seconds)
        last = log.last_position()
        batch = log.tail(self._position, stream=self.submitted.stream)
        # Events of other streams are skipped.
        self._position = batch[-1].position if batch else max(self._position, last)
        session = self._engine.sessions.load(self.submitted.stream)
        turn = last_turn(session, self.submitted.turn)
        for recorded in batch:
            if getattr(recorded.event, "turn", turn) == turn:
                self._progress.handle(recorded)
        self._progress.report_slow()
        current = session.current
        return TurnState(
            is_over=turn in session.ended,
            is_held=current is not None
            and current.id == turn
            and waits_for_person(self._engine.sessions.load, session, current, self._clock.now()),
            questions=tuple(self._questions(turn)),
            progress=self._new_lines(),
        )

    def _questions(self, turn: str) -> Sequence[AnyQuestion]:
        session = self._engine.sessions.load(self.submitted.stream)
        now = self._clock.now()
        questions = questions_of(self._engine.sessions.load, session, turn)
        return [question for question in questions if now < question.expires_at]

    def _new_lines(self) -> tuple[str, ...]:
        lines = tuple(self._lines)
        self._lines.clear()
        return lines
