"""Approvals in a chat: the text of a question, its buttons, and what pressing one does."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from hashlib import sha256
from typing import cast

from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.api import Delivery, revised
from hermes_jobs.features.deliveries.events import DeliveryQuestion, DeliveryRequested, stream_of
from hermes_jobs.features.gateway.rules.rating_buttons import SCOPE, Button, ButtonPress
from hermes_jobs.features.telegram.markdown import blocks
from hermes_jobs.features.telegram.messages import LIMIT, FilePart, Part, TextPart, packed
from hermes_jobs.features.telegram.rich_text import MAX_ENTITIES
from hermes_jobs.features.telegram.splitting import units
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.approval_rules import offer_text
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents, UniqueKey
from hermes_jobs.kernel.streams.reactions import with_reactions
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.inputs import waiting_request
from hermes_jobs.kernel.turns.questions import content_of
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.titles import printable, revealed
from hermes_jobs.text.clip import one_line

DENY = "no"
LABELS = {"once": "✅ Once", "session": "This session", "always": "Always here", DENY: "❌ No"}
_ALLOWED = {
    "once": "✅ Allowed once",
    "session": "✅ Allowed for this session",
    "always": "✅ Always allowed here",
}
_DENIED = "❌ Refused"
ACCEPT, DECLINE = "accept", "decline"
OPENED, DECLINED = "I have opened it", "❌ No answer"
MAX_LABEL = 60
MAX_REASON = 200  # characters that are shown of it
EXPIRED = "⌛ Not answered in time."
OVER = "This is over: the turn has ended, or goes on without it."
UNKNOWN = "This question cannot be answered here."
NOT_YOURS = "Only the person whose request this is may answer, or a named approver."

TAIL = 700
"""UTF-16 units that are left for what stands below a question, which changes when it is decided."""
TAIL_ENTITIES = 10

_DATA = re.compile(r"ask:(?P<choice>\w+):(?P<delivery>\w+)", re.ASCII)
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&!])")


# --- the text -------------------------------------------------------------------------------------


def delivery_of(call: str, target: str, again: str = "") -> str:
    """The delivery of a call's question to a target: the same for every process that asks it.

    `again`: the message that asked for it, where it is shown once more.
    """
    return "q" + sha256(f"{call}\0{target}\0{again}".encode()).hexdigest()[:20]


def escaped(text: str) -> str:
    """Words as Markdown that shows them as they are."""
    return _MARKUP.sub(r"\\\1", printable(text))


def fenced(text: str, language: str) -> str:
    """Text as a block of code, whatever is in it."""
    shown = "\n".join(revealed(line) for line in text.split("\n"))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{fence}{language}\n{shown}\n{fence}"


def choices_of(offer: e.CallPattern | None, *, lasting: bool) -> tuple[str, ...]:
    """The answers to a question. `lasting`: the turn is a person's own, which approvals can outlast."""
    return ("once", *(("session", "always") if offer is not None and lasting else ()), DENY)


def prompt(offer: e.CallPattern | None, choices: Sequence[str], until: str) -> str:
    """What stands above the buttons; `until` is the time at which it expires."""
    end = f"Reply to this message to refuse with a reason. Without an answer it is refused at {until}."
    if offer is None or "session" not in choices:
        return escaped(end)
    what = one_line(offer_text(offer), 200)
    where = f", in {one_line(offer.folder, 200)}" if offer.folder else ""
    return escaped(f"“This session” and “Always here” allow {what}{where}. {end}")


def question_parts(requested: DeliveryRequested, revision: str | None) -> Sequence[Part]:
    """The messages of a question: their number stays the same when it is decided."""
    assert requested.question is not None, f"{requested.delivery} asks nothing"
    body = list(blocks(requested.text))
    tail_text = requested.question.prompt if revision is None else escaped(revision)
    tail = list(blocks(one_line(tail_text, TAIL - 10)))
    parts = packed(body)
    last = parts[-1] if parts else TextPart("")
    if isinstance(last, FilePart) or units(last.text) + TAIL > LIMIT:
        return [*parts, *packed(tail)]
    if len(last.entities) + TAIL_ENTITIES > MAX_ENTITIES:
        return [*parts, *packed(tail)]
    return packed([*body, *tail])


def buttons_of(delivery: Delivery) -> Sequence[Button]:
    """The buttons below a question; none where it is over."""
    requested = delivery.requested
    if requested is None or requested.question is None or delivery.revision is not None:
        return ()
    asked = requested.question
    labels = asked.labels or tuple(LABELS[choice] for choice in asked.choices)
    named = zip(labels, asked.choices, strict=True)
    return [Button(one_line(label, MAX_LABEL), f"ask:{choice}:{delivery.id}") for label, choice in named]


def answered(choice: str, who: str, reason: str = "") -> str:
    """The end of a question, in words, by its answer."""
    because = f": {one_line(reason, MAX_REASON)}" if reason else "."
    return f"{_ALLOWED.get(choice, _DENIED)} by {who}{because}"


def end_of(events: Sequence[e.Event], call: str) -> str:
    """How the question of a call that waits no more has ended, by the session's events."""
    for event in reversed(events):
        if isinstance(event, e.ApprovalGiven) and event.call == call:
            return answered(event.scope, _name(event.by))
        if isinstance(event, e.InputAnswered) and event.call == call:
            return EXPIRED if event.by == "timeout" else f"✅ Answered by {_name(event.by)}."
        if isinstance(event, e.ApprovalDenied) and event.call == call:
            return EXPIRED if event.by == "timeout" else answered(DENY, _name(event.by), event.reason)
    return OVER


def _name(by: str) -> str:
    return "the user at the terminal" if by == "user" else by


# --- a press --------------------------------------------------------------------------------------


def is_press(press: ButtonPress) -> bool:
    """Whether the button belongs to a question."""
    return press.data.startswith("ask:")


def question_of(press: ButtonPress, load: StateLoader) -> tuple[Delivery, str]:
    """The delivery whose button was pressed, and the choice. Raises `Rejected` for another chat's."""
    match = _DATA.fullmatch(press.data)
    if match is None:
        raise Rejected(UNKNOWN, kind="usage")
    delivery: Delivery = load(stream_of(match["delivery"]))
    requested = delivery.requested
    if requested is None or requested.question is None or requested.target != press.target:
        raise Rejected(UNKNOWN, kind="usage")
    if match["choice"] not in requested.question.choices:
        raise Rejected(UNKNOWN, kind="usage")
    return delivery, match["choice"]


def may_answer(target: str, user: str, question: DeliveryQuestion, approvers: Collection[str]) -> bool:
    """Whether the user may answer in that chat: in a private one its own, else who has asked or approves."""
    return target == user or user in question.users or user in approvers


def handle_press(press: ButtonPress, approvers: Collection[str], now: Callable[[], float]) -> Decision:
    """The decision for the press: the answer to the call, and the end of the question, in one append.

    Its append raises `KeyTaken` where it was handled before. Raises `Rejected` with words for the person.
    """
    key = UniqueKey(scope=SCOPE, key=press.key, digest=sha256(press.data.encode()).hexdigest())

    def change(load: StateLoader) -> DecisionResult:
        delivery, choice = question_of(press, load)
        question = asked(delivery)
        if not may_answer(press.target, press.user, question, approvers):
            raise Rejected(NOT_YOURS, kind="usage")
        if delivery.revision is not None:
            raise Rejected(delivery.revision, kind="not_waiting")
        if question.expires_at <= now():
            raise Rejected(EXPIRED, kind="expired")
        session: Session = load(question.stream)
        name = press.name or press.user
        if question.key:
            command: c.SessionCommand = _input(question, choice, press.user, session)
            label = question.labels[question.choices.index(choice)]
            said = f"✅ {name}: {one_line(label, MAX_LABEL)}"
        else:
            command = _approval(question, choice, press.user, now())
            said = answered(choice, name)
        return DecisionResult(writes=_writes(delivery, session, command, said, load), keys=(key,))

    return change


def answer_with(
    delivery: Delivery, text: str, user: str, name: str, load: StateLoader
) -> tuple[StreamEvents, ...]:
    """The answer to a question in the person's own words; a call that waits for approval is refused with
    them. Raises `Rejected` with the reason if they do not fit: the question stays open."""
    question = asked(delivery)
    session: Session = load(question.stream)
    if question.key:
        command: c.SessionCommand = _with_content(question, text, user, session)
        said = f"✅ {name}: {one_line(text, MAX_LABEL)}"
    else:
        command = c.DenyCall(turn=question.turn, call=question.call, by=user, reason=text)
        said = answered(DENY, name, text)
    return _writes(delivery, session, command, said, load)


def asked(delivery: Delivery) -> DeliveryQuestion:
    """The question of a delivery that has one."""
    assert delivery.requested is not None, f"{delivery.stream} was not requested"
    assert delivery.requested.question is not None, f"{delivery.stream} asks nothing"
    return delivery.requested.question


def _writes(
    delivery: Delivery, session: Session, command: c.SessionCommand, said: str, load: StateLoader
) -> tuple[StreamEvents, ...]:
    events = decide(command, session)
    ended = StreamEvents(delivery.stream, revised(delivery, said))
    return (*with_reactions([StreamEvents(session.stream, events)], load).writes, ended)


def _input(question: DeliveryQuestion, choice: str, by: str, session: Session) -> c.AnswerInput:
    if choice.isdigit():
        return _with_content(question, int(choice), by, session)
    action: e.InputAction = "accept" if choice == ACCEPT else "decline"
    return c.AnswerInput(turn=question.turn, call=question.call, key=question.key, action=action, by=by)


def _with_content(question: DeliveryQuestion, answer: str | int, by: str, session: Session) -> c.AnswerInput:
    command = c.AnswerInput(turn=question.turn, call=question.call, key=question.key, action="accept", by=by)
    _, request = waiting_request(session, command)
    return replace(command, content=content_of(request, answer))


def _approval(question: DeliveryQuestion, choice: str, by: str, now: float) -> c.ApproveCall | c.DenyCall:
    if choice == DENY:
        return c.DenyCall(turn=question.turn, call=question.call, by=by)
    scope = cast(e.ApprovalScope, choice)
    return c.ApproveCall(turn=question.turn, call=question.call, by=by, now=now, scope=scope)
