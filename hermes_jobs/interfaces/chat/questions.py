"""The questions that wait in a chat's session, its sub-agents' too, and what the person answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from threading import RLock

from msgspec.structs import replace

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.questions.approval import answer_effect
from hermes_jobs.interfaces.cli.questions.children import questions_below
from hermes_jobs.interfaces.cli.questions.form_entry import FormEntry
from hermes_jobs.interfaces.cli.questions.input import (
    KEYS,
    InputQuestion,
    require_no_secret,
    typed_answer,
)
from hermes_jobs.interfaces.cli.questions.open import AnyQuestion
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.titles import printable


class ChatQuestions:
    """Those of one session at a time: `session()`, whose turn asks `own()`. Safe for many threads, by the
    conversation's `lock`."""

    def __init__(
        self,
        application: Application,
        lock: RLock,
        session: Callable[[], Session | None],
        own: Callable[[], Iterable[AnyQuestion]],
        *,
        show_prompt: Callable[[str], None],
        print_line: Callable[[str], None],
    ) -> None:
        self._application = application
        self._engine = application.engine()
        self._lock = lock
        self._session = session
        self._own = own
        self._show_prompt = show_prompt
        self._print_line = print_line
        self._entry: tuple[str, FormEntry] | None = None  # the form being filled in, by its question

    def first(self, call: str | None = None) -> AnyQuestion | None:
        """The first question, or a call's: of the session's turn, else of its sub-agents."""
        with self._lock:
            session, now = self._session(), self._application.clock.now()
            waiting = [self._own()]
            if session is not None:
                waiting.append(questions_below(self._engine.sessions.load, session))
            for question in chain.from_iterable(waiting):
                if now < question.expires_at and call in {None, question.call}:
                    return question
            return None

    def of_keys(self) -> AnyQuestion | None:
        """The question that one key answers; None where nothing waits, or a form is being filled in."""
        with self._lock:
            question = self.first()
            filling = question is not None and self._entry is not None and self._entry[0] == question.id
            return None if filling else question

    def answer(
        self, key: str, reason: str = "", call: str | None = None, question_id: str | None = None
    ) -> None:
        """Answer the open question, or the one about that call, or the one of that id, and show what is done.

        Raises `Rejected` without a question, or for an unknown key.
        """
        with self._lock:  # until it is shown: the next question comes below it
            self._print_line(printable(self._answered(key, reason, call, question_id)))

    def _answered(self, key: str, reason: str, call: str | None, question_id: str | None) -> str:
        question = (self.first(call) if call is not None else None) or self.first()
        if question is None or question_id not in {None, question.id}:
            raise Rejected("Nothing waits for you in this session.", kind="usage")
        if isinstance(question, InputQuestion):
            return self._answer_input(question, key)
        command = question.command(key, reason, self._application.clock.now())
        if command is None:
            keys = ", ".join(answer for answer, _ in question.answers())
            raise Rejected(f"This call can be answered with {keys}.", kind="usage")
        if call is not None:
            command = replace(command, call=call)
        self._execute(question, command)
        return answer_effect(command)

    def _answer_input(self, question: InputQuestion, key: str) -> str:
        if question.is_agents:
            raise Rejected("Type your answer.", kind="usage")
        if key not in KEYS:
            raise Rejected(f"This is answered with {', '.join(KEYS)}.", kind="usage")
        if key != "y":
            return self._execute_answer(question, "decline" if key == "n" else "cancel")
        entry = FormEntry(question.input_request)
        if entry.field is None:
            return self._execute_answer(question, "accept")
        self._entry = (question.id, entry)
        return "\n".join(entry.lines())

    def fill_in(self, text: str) -> str | None:
        """Handle a text for the form being filled in; returns the text to show, None without a form."""
        question = self.first()
        if isinstance(question, InputQuestion) and question.is_agents:
            self._show_prompt(text)
            command = typed_answer(question, text, self._application.clock.now())
            return self._execute_answer(question, command.action, command.content)
        if self._entry is None or not isinstance(question, InputQuestion) or question.id != self._entry[0]:
            return None
        entry = self._entry[1]
        entry.take(text)
        if entry.field is not None:
            return "\n".join(entry.lines())
        return self._execute_answer(question, "accept", entry.content)

    def _execute_answer(self, question: InputQuestion, action: e.InputAction, content: str = "") -> str:
        self._entry = None
        require_no_secret(content, self._application.settings.secrets.redact_known)
        self._execute(question, question.answer(action, self._application.clock.now(), content))
        return question.effect(action)

    def _execute(self, question: AnyQuestion, command: c.ApproveCall | c.DenyCall | c.AnswerInput) -> None:
        session = self._session()
        assert session is not None, "a question waits in a session"
        self._engine.execute(question.asker.stream if question.asker else session.stream, command)
