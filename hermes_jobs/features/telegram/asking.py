"""Puts the questions of turns into chats, and ends those that were decided elsewhere.

All that is known is in the log: which calls wait, which deliveries ask about them, and which messages show
these. The delivery of a question has an id that follows from the call and the chat, so that it is asked once,
however many processes ask it, and each look finds what earlier ones left undone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hermes_jobs.errors import KeyTaken, Rejected
from hermes_jobs.features.deliveries import api as deliveries
from hermes_jobs.features.deliveries.api import Delivery
from hermes_jobs.features.deliveries.events import DeliveryQuestion, DeliveryRequested, stream_of
from hermes_jobs.features.gateway.platform import PressAnswer
from hermes_jobs.features.gateway.rules.commands import noted
from hermes_jobs.features.gateway.rules.messages import IncomingMessage, message_keys
from hermes_jobs.features.gateway.rules.rating_buttons import ButtonPress
from hermes_jobs.features.telegram import questions as q
from hermes_jobs.features.telegram.drafts import AnswerDrafts
from hermes_jobs.interfaces.cli.questions.approval import ApprovalQuestion
from hermes_jobs.interfaces.cli.questions.children import questions_of
from hermes_jobs.interfaces.cli.questions.edit_diff import command_of, diff_of
from hermes_jobs.interfaces.cli.questions.input import InputQuestion
from hermes_jobs.interfaces.cli.questions.open import AnyQuestion
from hermes_jobs.interfaces.cli.turns.progress import call_details
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents
from hermes_jobs.kernel.turns.questions import question_of
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

PLATFORM = "telegram"
COMMANDS = ("/approve", "/inbox")
NOTHING_ASKED = "Nothing waits for your answer."
NOTHING_HERE = "Nothing in this chat waits for your answer."
AGAIN = "Please answer again, by a reply to the question."
OPEN_TURNS = 200
"""Turns, of the newest that run or wait, in which questions are looked for."""


class QuestionDesk:
    """The questions of one bot's chats. `approvers` may also answer what turns of others ask. Safe for many
    threads."""

    def __init__(
        self, application: Application, approvers: Collection[str], drafts: AnswerDrafts, *, pushes: bool
    ) -> None:
        """`drafts` is told of the turns that work for chats. `pushes`: what a turn from elsewhere asks is
        sent to each approver's own chat."""
        self._application = application
        self._engine = application.engine()
        self._approvers = frozenset(approvers)
        self._told = sorted(self._approvers) if pushes else ()
        self._drafts = drafts
        self._busy: tuple[str, ...] = ()

    # --- asking and ending ------------------------------------------------------------------------

    def look(self) -> None:
        """Ask what is not asked, and end what was decided elsewhere. Raises `LogUnavailable`."""
        at_work: dict[str, Sequence[str]] = {}
        for session, turn, is_running in self._open_turns():
            chats = [target for target in turn.deliver if is_chat(target)]
            if is_running and turn.source == PLATFORM:
                at_work[turn.id] = chats
            asked = chats or self._told
            for question in self._questions(session, turn) if asked else ():
                for target in asked:
                    self._request(question, turn, session, target)
        for delivery in deliveries.open_questions(self._application):
            self._end_if_over(delivery)
        self._busy = tuple({target for chats in at_work.values() for target in chats})
        private = {turn: [each for each in chats if "-" not in each] for turn, chats in at_work.items()}
        self._drafts.watch(private)

    def busy(self) -> Sequence[str]:
        """The chats for whose messages a turn is at work, as of the last look."""
        return self._busy

    def _open_turns(self) -> Iterator[tuple[Session, Turn, bool]]:
        """The turns that run or wait, and whether each runs."""
        views = self._application.views
        for status in ("waiting", "running"):
            for view in views.turns(status=status, hidden=True, limit=OPEN_TURNS):
                session = self._engine.sessions.load(view.stream)
                if session.current is not None and session.current.id == view.id:
                    yield session, session.current, status == "running"

    def _questions(self, session: Session, turn: Turn) -> Iterator[AnyQuestion]:
        now = self._application.clock.now()
        for question in questions_of(self._engine.sessions.load, session, turn.id):
            if question.expires_at > now:
                yield question

    def _request(
        self, question: AnyQuestion, turn: Turn, session: Session, target: str, again: str = ""
    ) -> None:
        delivery = q.delivery_of(question.id, target, again)
        state = self._engine.state(stream_of(delivery))
        if state.version == 0:
            requested = self._requested(delivery, question, turn, session, target)
            self._engine.change(_once(requested), f"question {question.call}")

    def _requested(
        self, delivery: str, question: AnyQuestion, turn: Turn, session: Session, target: str
    ) -> DeliveryRequested:
        stream = question.asker.stream if question.asker is not None else session.stream
        if isinstance(question, ApprovalQuestion):
            text, asked = _text(question), _approval(question, stream, lasting=turn.attended)
        else:
            text, asked = _input_text(question), _input(question, stream)
        asked = replace(asked, users=(turn.author,) if turn.author else ())
        return DeliveryRequested(
            delivery=delivery,
            target=target,
            text=self._application.settings.secrets.redact(text),
            turn=turn.id,
            session=session.id,
            source=turn.source,
            lineage=session.lineage,
            question=asked,
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

    # --- messages ---------------------------------------------------------------------------------

    def take(self, message: IncomingMessage) -> Decision | None:
        """The decision for a message that answers a question, or asks for those that are open; None for
        other messages. Raises `LogUnavailable`."""
        text = (message.text or "").strip()
        if text.partition(" ")[0].partition("@")[0] in COMMANDS:
            return self._listed(message)
        if not text or text.startswith("/") or message.files:
            return None
        answered = self._meant(message)
        return None if answered is None else self._answer(message, answered, text)

    def _meant(self, message: IncomingMessage) -> Delivery | None:
        """The question that a message answers: it is a reply to it."""
        for name in deliveries.open_questions(self._application):
            state = self._engine.state(stream_of(name))
            assert isinstance(state, Delivery), f"{name} is not a delivery"
            requested = state.requested
            is_here = requested is not None and requested.target == message.target
            if is_here and str(message.reply_to) in state.receipts and q.asked(state).takes_text:
                return state
        return None

    def _answer(self, message: IncomingMessage, delivery: Delivery, text: str) -> Decision:
        if not q.may_answer(message.target, message.user, q.asked(delivery), self._approvers):
            return noted(message, q.NOT_YOURS)
        if self._application.settings.secrets.redact_known(text) != text:
            return noted(message, "Your answer contains one of your secrets. Nothing was recorded.")

        def change(load: StateLoader) -> DecisionResult:
            state: Delivery = load(delivery.stream)
            if state.revision is not None:
                return noted(message, state.revision)(load)
            try:
                writes = q.answer_with(state, text, message.user, message.name or message.user, load)
            except Rejected as rejection:
                return noted(message, f"{rejection.message} {AGAIN}")(load)
            return DecisionResult(writes=writes, keys=message_keys(message))

        return change

    def _listed(self, message: IncomingMessage) -> Decision:
        """The open questions that the person may answer, each once more, and how much is unread."""
        target, key = message.target, message.key
        found = [
            self._requested(q.delivery_of(question.id, target, key), question, turn, session, target)
            for session, turn, _ in self._open_turns()
            if self._may_see(message, turn)
            for question in self._questions(session, turn)
        ]
        if not found and self._sees_all(message):
            unread = deliveries.unread(self._application)
            more = f" {unread} unread: hermes-jobs inbox read." if unread else ""
            return noted(message, f"{NOTHING_ASKED}{more}")
        if not found:
            return noted(message, NOTHING_HERE)
        asked = [StreamEvents(stream_of(each.delivery), (each,)) for each in found]
        return lambda _load: DecisionResult(writes=tuple(asked), keys=message_keys(message))

    def _may_see(self, message: IncomingMessage, turn: Turn) -> bool:
        return message.target in turn.deliver or self._sees_all(message)

    def _sees_all(self, message: IncomingMessage) -> bool:
        """Whether an approver asks, where nobody reads along."""
        return message.target == message.user and message.user in self._approvers

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
    if call is None or call.result is not None:
        return False
    if not question.key:
        return call.approval == "waiting"
    open_ = call.input.unanswered if call.input is not None and call.waits_for_input else ()
    return any(request.key == question.key for request in open_)


def _approval(question: ApprovalQuestion, stream: str, *, lasting: bool) -> DeliveryQuestion:
    request = question.request
    choices = q.choices_of(request.offer, lasting=lasting)
    return DeliveryQuestion(
        stream=stream,
        turn=request.turn,
        call=request.call,
        choices=choices,
        prompt=q.prompt(request.offer, choices, _moment(question.expires_at)),
        expires_at=question.expires_at,
        takes_text=True,
    )


def _input(question: InputQuestion, stream: str) -> DeliveryQuestion:
    """A question with choices, other words or an address; a form of several fields is for a terminal."""
    request, form = question.request, question.input_request
    simple = question_of(request, form)
    prompt = f"Without an answer it ends at {_moment(question.expires_at)}."
    chosen = simple.choices if simple is not None and not simple.several else ()
    if simple is not None and simple.several:
        prompt = f"Answer with the numbers of your choices, such as 1, 3. {prompt}"
    elif simple is not None and simple.free_text:
        prompt = f"Reply to this message to answer in your own words. {prompt}"
    elif simple is None and not form.url:
        prompt = f"It is filled in at a terminal: hermes-jobs turns answer {request.turn}. {prompt}"
    choices = (*(str(number) for number in range(1, len(chosen) + 1)), *([q.ACCEPT] if form.url else ()))
    return DeliveryQuestion(
        stream=stream,
        turn=request.turn,
        call=request.call,
        choices=(*choices, q.DECLINE),
        labels=(*chosen, *([q.OPENED] if form.url else ()), q.DECLINED),
        prompt=q.escaped(prompt),
        expires_at=question.expires_at,
        key=form.key,
        takes_text=simple is not None and (simple.free_text or simple.several),
    )


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%d %b %H:%M} UTC"


def _input_text(question: InputQuestion) -> str:
    """The whole question as Markdown; the agent's own may hold some, a server's is shown as it is."""
    server, form = question.request.server, question.input_request
    asker = f"The server {q.escaped(server)}" if server else "A sub-agent" if question.asker else "The agent"
    simple = question_of(question.request, form)
    numbered = simple.choices if simple is not None and simple.several else ()
    lines = [f"**{asker} asks**", q.escaped(form.message) if server else form.message]
    lines += [q.escaped(form.url)] if form.url else []
    lines += ["\n".join(f"{number}. {q.escaped(choice)}" for number, choice in enumerate(numbered, 1))]
    return "\n\n".join(line for line in lines if line)


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
