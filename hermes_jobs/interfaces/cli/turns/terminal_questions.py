"""What a turn asks while this process waits for it: asked at the terminal, or named with how to answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TypeAlias

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.questions.approval import answer_effect, ask_person
from hermes_jobs.interfaces.cli.questions.children import questions_below
from hermes_jobs.interfaces.cli.questions.input import InputQuestion, ask_for_input, require_no_secret
from hermes_jobs.interfaces.cli.questions.open import AnyQuestion
from hermes_jobs.interfaces.cli.turns.printer import TurnPrinter
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import workdir_of
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.kernel.turns.waiting import LoadSession, last_turn

Answer: TypeAlias = c.ApproveCall | c.DenyCall | c.AnswerInput
Execute = Callable[[str, Answer], object]
"""Executes a command in that stream. Raises `Rejected`."""


class TerminalQuestions:
    """The questions of one turn and its sub-agents. `can_ask`: a person at this terminal answers them."""

    def __init__(
        self, application: Application, submitted: Submitted, printer: TurnPrinter, *, can_ask: bool
    ) -> None:
        self._application = application
        self._submitted = submitted
        self._printer = printer
        self.can_ask = can_ask

    def first(self, load: LoadSession) -> AnyQuestion | None:
        """The first open question for this terminal."""
        if not self.can_ask:
            return None
        return next(chain(self._own(load), self._below(load)), None)

    def _own(self, load: LoadSession) -> Iterator[AnyQuestion]:
        """The questions of the turn's calls."""
        session = load(self._submitted.stream)
        turn = session.current
        if turn is None or turn.cancelled_by is not None:
            return
        for question in self._printer.questions(workdir_of(session)):
            call = turn.call(question.call)
            is_open = call is not None and call.waits_for_person
            if is_open and self._application.clock.now() < question.expires_at:
                yield question

    def _below(self, load: LoadSession) -> Iterator[AnyQuestion]:
        """The questions of sub-agents' calls."""
        session = load(self._submitted.stream)
        turn = session.current
        if (
            turn is None
            or turn.cancelled_by is not None
            or turn.id != last_turn(session, self._submitted.turn)
        ):
            return
        for question in questions_below(load, session, turn.id):
            if self._application.clock.now() < question.expires_at:
                yield question

    def note_below(self, load: LoadSession) -> None:
        """Print how to answer sub-agents' questions, if they are not asked here."""
        if not self.can_ask:
            for question in self._below(load):
                self._printer.note_question(question)

    def ask(self, question: AnyQuestion, until: float | None, load: LoadSession, execute: Execute) -> None:
        """Ask the user, and record what they answer, until that moment of the monotonic clock."""
        clock = self._application.clock

        def is_wanted() -> bool:
            return question == self.first(load) and (until is None or clock.monotonic() < until)

        try:
            command = self._answer(question, is_wanted)
        except EOFError:
            self.can_ask = False
            self._printer.ask_elsewhere()
            return
        if command is None:
            return
        try:
            if isinstance(command, c.AnswerInput):
                require_no_secret(command.content, self._application.settings.secrets.redact_known)
            asker = question.asker
            execute(asker.stream if asker else self._submitted.stream, command)
        except Rejected as rejection:
            self._printer.print_line(rejection.message)
        else:
            self._printer.print_line(f"  {_effect(question, command)}")

    def _answer(self, question: AnyQuestion, is_wanted: Callable[[], bool]) -> Answer | None:
        """The user's answer as a command; None if it is too late. Raises `EOFError`."""
        show, now = self._printer.show_question, self._application.clock.now
        if isinstance(question, InputQuestion):
            return ask_for_input(question, show, is_wanted, now)
        answer = ask_person(question, show, is_wanted)
        return question.command(*answer, now()) if answer else None


def _effect(question: AnyQuestion, command: Answer) -> str:
    """The effect of an answer, in words."""
    if isinstance(command, c.AnswerInput):
        assert isinstance(question, InputQuestion), question
        return question.effect(command.action)
    return answer_effect(command)
