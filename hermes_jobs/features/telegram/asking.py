"""Puts the questions of turns into chats, and ends those that were decided elsewhere.

All that is known is in the log: which calls wait, which deliveries ask about them, and which messages show
these. The delivery of a question has an id that follows from the call and the chat, so that it is asked once,
however many processes ask it, and each look finds what earlier ones left undone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hermes_jobs.errors import KeyTaken, Rejected
from hermes_jobs.features.deliveries import api as deliveries
from hermes_jobs.features.deliveries.api import Delivery
from hermes_jobs.features.deliveries.events import DeliveryQuestion, DeliveryRequested, stream_of
from hermes_jobs.features.gateway.platform import PressAnswer
from hermes_jobs.features.gateway.rules.rating_buttons import ButtonPress
from hermes_jobs.features.telegram import questions as q
from hermes_jobs.interfaces.cli.questions.approval import ApprovalQuestion
from hermes_jobs.interfaces.cli.questions.children import questions_of
from hermes_jobs.interfaces.cli.questions.edit_diff import command_of, diff_of
from hermes_jobs.interfaces.cli.turns.progress import call_details
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

PLATFORM = "telegram"
OPEN_TURNS = 200
"""Turns, of the newest that run or wait, in which questions are looked for."""


class QuestionDesk:
    """The questions of one bot's chats. `approvers` may answer in groups, too. Safe for many threads."""

    def __init__(self, application: Application, approvers: Collection[str]) -> None:
        self._application = application
        self._engine = application.engine()
        self._approvers = frozenset(approvers)

    # --- asking and ending ------------------------------------------------------------------------

    def look(self) -> None:
        """Ask what is not asked, and end what was decided elsewhere. Raises `LogUnavailable`."""
        for session, turn in self._open_turns():
            chats = [target for target in turn.deliver if is_chat(target)]
            for question in self._approvals(session, turn) if chats else ():
                for target in chats:
                    self._request(question, turn, session, target)
        for delivery in deliveries.open_questions(self._application):
            self._end_if_over(delivery)

    def _open_turns(self) -> Iterator[tuple[Session, Turn]]:
        views = self._application.views
        for status in ("waiting", "running"):
            for view in views.turns(status=status, hidden=True, limit=OPEN_TURNS):
                session = self._engine.sessions.load(view.stream)
                if session.current is not None and session.current.id == view.id:
                    yield session, session.current

    def _approvals(self, session: Session, turn: Turn) -> Iterator[ApprovalQuestion]:
        now = self._application.clock.now()
        for question in questions_of(self._engine.sessions.load, session, turn.id):
            if isinstance(question, ApprovalQuestion) and question.expires_at > now:
                yield question

    def _request(
        self, question: ApprovalQuestion, turn: Turn, session: Session, target: str, again: str = ""
    ) -> None:
        delivery = q.delivery_of(question.call, target, again)
        state = self._engine.state(stream_of(delivery))
        if state.version == 0:
            requested = self._requested(delivery, question, turn, session, target)
            self._engine.change(_once(requested), f"question {question.call}")

    def _requested(
        self, delivery: str, question: ApprovalQuestion, turn: Turn, session: Session, target: str
    ) -> DeliveryRequested:
        request, until = question.request, datetime.fromtimestamp(question.expires_at, UTC)
        choices = q.choices_of(request.offer, lasting=turn.attended)
        return DeliveryRequested(
            delivery=delivery,
            target=target,
            text=self._application.settings.secrets.redact(_text(question)),
            turn=turn.id,
            session=session.id,
            source=turn.source,
            lineage=session.lineage,
            question=DeliveryQuestion(
                stream=question.asker.stream if question.asker is not None else session.stream,
                turn=request.turn,
                call=request.call,
                choices=choices,
                prompt=q.prompt(request.offer, choices, f"{until:%H:%M} UTC"),
                expires_at=question.expires_at,
            ),
        )

    def _end_if_over(self, delivery: str) -> None:
        state = self._engine.state(stream_of(delivery))
        assert isinstance(state, Delivery), f"{delivery} is not a delivery"
        question = state.requested.question if state.requested is not None else None
        if question is None or state.revision is not None:
            return
        session = self._engine.sessions.load(question.stream)
        if not _waits(session, question):
            recorded = self._engine.log.read(question.stream)
            text = q.end_of([each.event for each in recorded], question.call)
        elif question.expires_at <= self._application.clock.now():
            text = q.EXPIRED
        else:
            return
        self._engine.change(_ended(state.stream, text), f"question {question.call}")

    # --- presses ----------------------------------------------------------------------------------

    def press(self, press: ButtonPress) -> PressAnswer | None:
        """Take the answer to a question, unless it is decided; None for the button of something else.

        Raises `LogUnavailable`.
        """
        if not q.is_press(press):
            return None
        decision = q.handle_press(press, self._approvers, self._application.clock.now)
        try:
            self._engine.change(decision, f"gateway {press.key}")
        except KeyTaken:
            pass
        except Rejected as rejection:
            is_over = rejection.kind in {"not_waiting", "expired"}
            return PressAnswer(text=self._words(press, rejection), buttons=() if is_over else None)
        return PressAnswer(text=self._revision(press), buttons=())

    def _words(self, press: ButtonPress, rejection: Rejected) -> str:
        """Why the press has no effect, for the person."""
        if rejection.kind != "not_waiting":
            return rejection.message
        self.look()
        return self._revision(press) or rejection.message

    def _revision(self, press: ButtonPress) -> str:
        delivery, _ = q.question_of(press, self._engine.state)
        return delivery.revision or ""


def is_chat(target: str) -> bool:
    """Whether people can be asked there: a chat with a number, not a channel by name."""
    platform, _, chat = target.partition(":")
    return platform == PLATFORM and not chat.startswith("@")


def _once(requested: DeliveryRequested) -> Decision:
    """The request of a delivery that was not requested before."""

    def change(load: StateLoader) -> DecisionResult:
        state: Delivery = load(stream_of(requested.delivery))
        return DecisionResult() if state.version else DecisionResult.of(state.stream, requested)

    return change


def _ended(stream: str, text: str) -> Decision:
    def change(load: StateLoader) -> DecisionResult:
        state: Delivery = load(stream)
        return DecisionResult(writes=(StreamEvents(stream, deliveries.revised(state, text)),))

    return change


def _waits(session: Session, question: DeliveryQuestion) -> bool:
    """Whether the call still waits for the answer."""
    turn = session.current
    if turn is None or turn.id != question.turn or turn.cancelled_by is not None:
        return False
    call = turn.call(question.call)
    return call is not None and call.approval == "waiting" and call.result is None


def _text(question: ApprovalQuestion) -> str:
    """The whole question as Markdown."""
    call, folder = question.tool_call, question.folder
    asker = "A sub-agent" if question.asker else "The agent"
    command, diff = command_of(call), diff_of(call, folder)
    what = "to run a command" if command else "to change a file" if diff else f"to use {q.escaped(call.name)}"
    lines = [f"**{asker} asks {what}** ({q.escaped(question.request.rule)})"]
    if folder:
        lines.append(f"in {q.escaped(folder)}")
    if question.asker is not None:
        lines.append(q.escaped(question.asker.name))
    if command:
        code = q.fenced(command, "bash")
    elif diff:
        code = q.fenced("\n".join(diff), "diff")
    else:
        code = q.fenced(call_details(call.name, call.arguments), "")
    return "\n\n".join(["  \n".join(lines), code])
