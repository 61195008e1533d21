"""Questions of a server during the read of a resource or a prompt: the reading user answers at once.

Nothing is recorded: without an answer the read fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from hermes_jobs.agent.mcp.elicitation import Unanswerable, requests_of
from hermes_jobs.agent.mcp.servers import NOBODY
from hermes_jobs.domain.events import InputAnswered, InputRequest, InputRequested
from hermes_jobs.domain.session.inputs import as_mcp
from hermes_jobs.domain.session.turn import OpenInput
from hermes_jobs.engine.ports import Clock

Person = Callable[[InputRequested, Callable[[], bool]], Sequence[InputAnswered]]
"""Asks the user at this terminal. In the question, `turn` is empty, and `call` names the subject. The
second argument returns whether the server has stopped waiting. Raises `Rejected` if the user leaves."""


class ReaderQuestions(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Answers for servers by a `person`; None: nobody answers. `seconds`: the time limit of an answer."""

    clock: Clock
    seconds: float
    redact: Callable[[str], str]
    person: Person | None = None

    def by(self, person: Person | None) -> ReaderQuestions:
        """The same, with that user's answers."""
        return ReaderQuestions(clock=self.clock, seconds=self.seconds, redact=self.redact, person=person)

    def answers(self, server: str, what: str, asked: Mapping[str, Any], gone: Callable[[], bool]) -> bytes:
        """The answers as JSON by the server's names for what it asks.

        Raises `Unanswerable` where nobody is there, or for what no person is asked.
        """
        if self.person is None:
            raise Unanswerable(NOBODY)
        requests = requests_of(asked, self.redact)
        question = InputRequested(
            turn="",
            call=what,
            server=server,
            requests=requests,
            expires_at=self.clock.now() + self.seconds,
        )
        refused = [_answer(question, each, "decline", "policy") for each in requests if each.refusal]
        given = self.person(question, gone) if len(refused) < len(requests) else ()
        found = OpenInput(request=question, rounds=1, answers=(*refused, *given))
        late = [_answer(question, each, "cancel", "timeout") for each in found.unanswered]
        return as_mcp(OpenInput(request=question, rounds=1, answers=(*found.answers, *late)))


def _answer(question: InputRequested, asked: InputRequest, action: Any, by: str) -> InputAnswered:
    return InputAnswered(turn=question.turn, call=question.call, key=asked.key, action=action, by=by)
