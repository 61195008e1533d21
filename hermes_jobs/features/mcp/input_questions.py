"""Records a server's questions in the log, and returns the user's answers to the server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.features.mcp.catalogue import clean
from hermes_jobs.features.mcp.elicitation import MAX_STATE, Unanswerable, requests_of
from hermes_jobs.features.mcp.messages import AskNow, Failed, InputRequired, decode_response
from hermes_jobs.kernel.engine.ports import Cancel, ToolContext
from hermes_jobs.kernel.events import InputRequest
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.call import Call
from hermes_jobs.kernel.turns.inputs import MAX_ROUNDS, as_mcp
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.system.clock import Clock

POLL_SECONDS = 0.2
"""Seconds between two polls for an answer to a live question."""
MAX_TEXT_CHARS = 200
CANCELLED = b'{"action":"cancel"}'


class InputQuestions(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Questions of servers, as events of sessions. Thread-safe.

    `state(stream)` and `execute(stream, command)` are the log's. `seconds`: the time limit for an answer.
    """

    state: Callable[[str], Any]
    execute: Callable[[str, c.SessionCommand], object]
    clock: Clock
    seconds: float
    redact: Callable[[str], str]

    def request(self, server: str, requested: InputRequired, context: ToolContext) -> c.RequestInput | Failed:
        """The question of a call; the call is repeated with the answers."""
        if context.input is not None and context.input.rounds >= MAX_ROUNDS:
            return Failed(kind="asks", message=f"it asks for input more than {MAX_ROUNDS} times", sent=True)
        state = requested.state
        if state is not None and (len(state) > MAX_STATE or self.redact(state) != state):
            reason = "is too large" if len(state) > MAX_STATE else "holds a secret of yours"
            return Failed(kind="asks", message=f"it asks for input, and its state {reason}", sent=True)
        try:
            requests = self._requests(decode_response(requested.requests))
        except Unanswerable as reason:
            return Failed(kind="asks", message=str(reason), sent=True)
        return c.RequestInput(
            step=context.call, server=server, requests=requests, expires_at=self._expiry(), state=state
        )

    def ask_now(
        self,
        server: str,
        question_now: AskNow,
        context: ToolContext,
        cancel: Cancel,
        is_withdrawn: Callable[[], bool],
    ) -> bytes:
        """The answer to what a server asks while it makes the call, as JSON in the form of the specification.

        `is_withdrawn()`: the server has stopped waiting.
        """
        stream = stream_of(context.lineage)
        try:
            question = c.RequestInput(
                step=context.call,
                server=server,
                requests=self._requests({question_now.key: decode_response(question_now.request)}),
                expires_at=self._expiry(),
                live=True,
                attempt=context.attempt,
            )
            self.execute(stream, question)
            call = self._waited(stream, question, cancel, is_withdrawn)
        except (Unanswerable, HermesJobsError):  # a running call continues
            return CANCELLED
        if call is None or call.input is None or call.input.unanswered:
            return CANCELLED
        answers: dict[str, msgspec.Raw] = msgspec.json.decode(as_mcp(call.input), type=dict[str, msgspec.Raw])
        return bytes(answers[question_now.key])

    def _waited(
        self, stream: str, question: c.RequestInput, cancel: Cancel, is_withdrawn: Callable[[], bool]
    ) -> Call | None:
        """Wait until the question is answered or the server has stopped waiting; returns the call's state."""
        stopped = threading.Event()
        forget = cancel.on_cancel(stopped.set)
        try:
            while True:
                call = self._call(stream, question.step)
                if call is None or not call.waits_for_input or cancel.reason is not None or is_withdrawn():
                    return call
                if self.clock.now() >= question.expires_at:
                    self._give_up(stream, call)
                stopped.wait(POLL_SECONDS)
        finally:
            forget()

    def _give_up(self, stream: str, call: Call) -> None:
        session: Session = self.state(stream)
        turn = session.current
        if turn is not None:
            self.execute(stream, c.AnswerInput(turn=turn.id, call=call.id, action="cancel", by="timeout"))

    def _call(self, stream: str, call: str) -> Call | None:
        session: Session = self.state(stream)
        return session.current.call(call) if session.current is not None else None

    def words(self, text: str) -> str:
        """A server's text as one printable line."""
        return " ".join(clean(self.redact(text)).split())[:MAX_TEXT_CHARS]

    def _requests(self, requests_by_key: Mapping[str, Any]) -> tuple[InputRequest, ...]:
        return requests_of(requests_by_key, self.redact)

    def _expiry(self) -> float:
        return self.clock.now() + self.seconds
