"""Buttons below an answer in a chat, which rate its turn: their data, and the effect of pressing one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import cast

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries import events as deliveries
from hermes_jobs.features.deliveries.events import DeliveryRequested, parse_target
from hermes_jobs.features.deliveries.rules import Delivery
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents, UniqueKey
from hermes_jobs.kernel.streams.reactions import with_reactions
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.session import Session, stream_of

SCOPE = "gateway"
MAX_DATA = 64
"""Bytes that a button may carry (https://core.telegram.org/bots/api#inlinekeyboardbutton)."""

NOT_HERE = "This answer cannot be rated here any more."
CONFIRMATIONS: dict[e.Rating, str] = {
    "up": "Noted: it was good.",
    "down": "Noted: it was not good.",
    "none": "The rating is removed.",
}
_FACES: dict[e.Rating, str] = {"up": "👍", "down": "👎"}
_CHOSEN = "✅ "
_DATA = re.compile(r"rate:(?P<rating>up|down|none):(?P<delivery>\w+)", re.ASCII)


class Button(msgspec.Struct, frozen=True):
    """A button: its label, and the data sent back when it is pressed."""

    label: str
    data: str


class ButtonPress(msgspec.Struct, frozen=True, kw_only=True):
    """A pressed button. `key` is unique among all messages and presses of all platforms, `user` is the
    sender, `target` the chat. `query` is the platform's id of the press, `message` that of the message above.
    `name`: what the user is called there.
    """

    key: str
    user: str
    target: str
    data: str
    query: str
    message: int
    name: str = ""


def rating_buttons(delivery: str, rating: e.Rating = "none") -> Sequence[Button]:
    """The buttons below the answer of a delivery; the chosen one takes the rating back."""
    buttons = [
        Button(f"{_CHOSEN}{face}", f"rate:none:{delivery}")
        if rating == value
        else Button(face, f"rate:{value}:{delivery}")
        for value, face in _FACES.items()
    ]
    return buttons if all(len(button.data.encode()) <= MAX_DATA for button in buttons) else ()


def can_be_rated(delivery: Delivery) -> bool:
    """Whether it answers a message in the chat to which it is delivered."""
    request = delivery.requested
    return (
        request is not None
        and request.ok
        and request.question is None
        and None not in {request.turn, request.lineage}
        and parse_target(request.target).kind == request.source
    )


def handle_press(press: ButtonPress) -> Decision:
    """The decision for the press. Its append raises `KeyTaken` where it was handled before.

    Raises `Rejected` for an unknown button, or one of another chat.
    """
    digest = sha256(press.data.encode("utf-8", "replace")).hexdigest()
    key = UniqueKey(scope=SCOPE, key=press.key, digest=digest)

    def change(load: StateLoader) -> DecisionResult:
        rating, requested = _rating_of(press, load)
        session: Session = load(stream_of(requested.lineage or ""))
        command = c.RateTurn(e.TurnRated(turn=requested.turn or "", rating=rating, by=press.user))
        events = decide(command, session)
        if not events:
            return DecisionResult()
        writes = with_reactions([StreamEvents(session.stream, events)], load).writes
        return DecisionResult(writes=writes, keys=(key,))

    return change


def rating_now(press: ButtonPress, load: StateLoader) -> tuple[str, e.Rating]:
    """The delivery whose button was pressed, and how its turn is rated. Raises `Rejected`."""
    _, requested = _rating_of(press, load)
    session: Session = load(stream_of(requested.lineage or ""))
    ended = session.ended.get(requested.turn or "")
    return requested.delivery, ended.rated.rating if ended is not None and ended.rated is not None else "none"


def _rating_of(press: ButtonPress, load: StateLoader) -> tuple[e.Rating, DeliveryRequested]:
    match = _DATA.fullmatch(press.data)
    if match is None:
        raise Rejected(NOT_HERE, kind="usage")
    delivery: Delivery = load(deliveries.stream_of(match["delivery"]))
    if delivery.requested is None or delivery.requested.target != press.target or not can_be_rated(delivery):
        raise Rejected(NOT_HERE, kind="usage")
    return cast(e.Rating, match["rating"]), delivery.requested
