"""Approvals in a chat: the text of a question, its buttons, and what pressing one does."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from hashlib import sha256
from typing import cast

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.api import Delivery, revised
from hermes_jobs.features.deliveries.events import DeliveryQuestion, DeliveryRequested, stream_of
from hermes_jobs.features.gateway.rules.rating_buttons import SCOPE, Button, ButtonPress
from hermes_jobs.features.telegram.markdown import blocks
from hermes_jobs.features.telegram.messages import LIMIT, FilePart, Part, TextPart, packed
from hermes_jobs.features.telegram.rich_text import MAX_ENTITIES
from hermes_jobs.features.telegram.splitting import units
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.approval_rules import pattern_text
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents, UniqueKey
from hermes_jobs.kernel.streams.reactions import with_reactions
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.text.clip import one_line

DENY = "no"
LABELS = {"once": "✅ Once", "session": "This session", "always": "Always here", DENY: "❌ No"}
_ALLOWED = {
    "once": "✅ Allowed once",
    "session": "✅ Allowed for this session",
    "always": "✅ Always allowed here",
}
_DENIED = "❌ Refused"
EXPIRED = "⌛ Not answered in time: it was refused."
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
    shown = "\n".join(printable(line) for line in text.split("\n"))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{fence}{language}\n{shown}\n{fence}"


def choices_of(offer: e.CallPattern | None, *, lasting: bool) -> tuple[str, ...]:
    """The answers to a question. `lasting`: the turn is a person's own, which approvals can outlast."""
    return ("once", *(("session", "always") if offer is not None and lasting else ()), DENY)


def prompt(offer: e.CallPattern | None, choices: Sequence[str], until: str) -> str:
    """What stands above the buttons; `until` is the time at which it expires."""
    end = f"Without an answer it is refused at {until}."
    if offer is None or "session" not in choices:
        return escaped(end)
    what = "exactly this" if offer.exact else one_line(pattern_text(offer), 200)
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
    return [Button(LABELS[choice], f"ask:{choice}:{delivery.id}") for choice in requested.question.choices]


def answered(choice: str, who: str) -> str:
    """The end of a question, in words, by its answer."""
    return f"{_ALLOWED.get(choice, _DENIED)} by {who}."


def end_of(events: Sequence[e.Event], call: str) -> str:
    """How the question of a call that waits no more has ended, by the session's events."""
    for event in reversed(events):
        if isinstance(event, e.ApprovalGiven) and event.call == call:
            return answered(event.scope, _name(event.by))
        if isinstance(event, e.ApprovalDenied) and event.call == call:
            return EXPIRED if event.by == "timeout" else answered(DENY, _name(event.by))
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


def may_answer(press: ButtonPress, question: DeliveryQuestion, approvers: Collection[str]) -> bool:
    """Whether the user may answer: in a private chat its own, else who has asked or approves."""
    is_private = press.target == press.user
    return is_private or press.user in question.users or press.user in approvers


def handle_press(press: ButtonPress, approvers: Collection[str], now: Callable[[], float]) -> Decision:
    """The decision for the press: the answer to the call, and the end of the question, in one append.

    Its append raises `KeyTaken` where it was handled before. Raises `Rejected` with words for the person.
    """
    key = UniqueKey(scope=SCOPE, key=press.key, digest=sha256(press.data.encode()).hexdigest())

    def change(load: StateLoader) -> DecisionResult:
        delivery, choice = question_of(press, load)
        assert delivery.requested is not None, "it was asked"
        question = delivery.requested.question
        assert question is not None, "it asks"
        if not may_answer(press, question, approvers):
            raise Rejected(NOT_YOURS, kind="usage")
        if delivery.revision is not None:
            raise Rejected(delivery.revision, kind="not_waiting")
        session: Session = load(question.stream)
        events = decide(_command(question, choice, press.user, now()), session)
        said = answered(choice, press.name or press.user)
        ended = StreamEvents(delivery.stream, revised(delivery, said))
        writes = with_reactions([StreamEvents(session.stream, events)], load).writes
        return DecisionResult(writes=(*writes, ended), keys=(key,))

    return change


def _command(question: DeliveryQuestion, choice: str, by: str, now: float) -> c.ApproveCall | c.DenyCall:
    if question.expires_at <= now:
        raise Rejected(EXPIRED, kind="expired")
    if choice == DENY:
        return c.DenyCall(turn=question.turn, call=question.call, by=by)
    scope = cast(e.ApprovalScope, choice)
    return c.ApproveCall(turn=question.turn, call=question.call, by=by, now=now, scope=scope)
