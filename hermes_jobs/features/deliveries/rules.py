"""A delivery: its target, its state as folded from a stream `delivery-ID`, and its retry times.

requested ─▶ (placed ─▶ placed …) ─▶ sent ─▶ (revised ─▶ sent)
    │  ▲          │  ▲                          └ a question that is over: its last message is changed
    ▼  └ waiting ◀┘  └ a placeholder for each part, changed into it by the attempt that follows
  failed
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.deliveries.events import (
    INBOX,
    PREFIX,
    PUSH,
    TELEGRAM_TOKEN,
    WEBHOOK_SECRET,
    DeliveryEvent,
    DeliveryFailed,
    DeliveryMoved,
    DeliveryPlaced,
    DeliveryRequested,
    DeliveryRevised,
    DeliverySent,
    requests,
)
from hermes_jobs.features.gateway.rules.news import immediate_notices, stop_notice, with_news
from hermes_jobs.kernel.events import (
    ApprovalRequested,
    InputRequested,
    SessionEvent,
    TurnCancelled,
    TurnCompleted,
    TurnEnd,
    TurnFailed,
)
from hermes_jobs.kernel.streams.decision import StateLoader, StreamEvents
from hermes_jobs.kernel.streams.stream_kind import About, StreamKind
from hermes_jobs.kernel.turns import review_rules
from hermes_jobs.kernel.turns.messages import SILENT
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.turn import Turn

MAX_ATTEMPTS = 30
"""Failed attempts in a row after which a delivery has failed; with these waits, after about a day."""
FIRST_WAIT = 10.0
FIRST_WAIT_AS_ASKED = 1.0  # where the target says how long
LONGEST_WAIT = 3_600.0
LONGEST_RETRY_AFTER = 86_400.0
"""Longest wait, in seconds, that a target's `Retry-After` can ask for."""
JITTER = 0.2

DeliveryStatus = Literal["waiting", "sent", "failed"]


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one delivery's stream at `version`.

    `receipts` are the placeholder messages at the target, one per part; all but the last one have been
    replaced by their parts. `placements` counts all placeholders ever sent, `failures` failed attempts in a
    row; `message` says why the last attempt failed. `revision`: how its question ended; None: it is open.
    `progress` is the version at which the next attempt became due: a revision during an attempt does not
    take the step from its worker.
    """

    stream: str
    version: int = 0
    requested: DeliveryRequested | None = None
    status: DeliveryStatus = "waiting"
    failures: int = 0
    retry_at: float = 0.0
    receipts: tuple[str, ...] = ()
    placements: int = 0
    message: str = ""
    revision: str | None = None
    progress: int = 0

    @property
    def id(self) -> str:
        """The delivery's id, the same at every attempt, so that targets can recognise duplicates."""
        return self.stream.removeprefix(PREFIX)

    @property
    def attempt(self) -> int:
        """The number of the next attempt, from 1; a success resets it."""
        return self.failures + 1

    @property
    def is_unread(self) -> bool:
        """Whether its text is unread in the inbox: sent to the inbox, or not deliverable elsewhere."""
        if self.requested is None:
            return False
        return self.status == "failed" or (self.status == "waiting" and self.requested.target == INBOX)


def next_steps(delivery: Delivery) -> tuple[Step, ...]:
    """The next attempt, if any. A delivery to the inbox has no step: it is read there."""
    requested = delivery.requested
    if requested is None or delivery.status != "waiting" or requested.target == INBOX:
        return ()
    step = Step(
        id=f"{delivery.id}-{delivery.progress}",
        stream=delivery.stream,
        kind="delivery.send",
        attempt=delivery.attempt,
        not_before=delivery.retry_at,
    )
    return (step,)


def evolve(delivery: Delivery, event: DeliveryEvent) -> Delivery:
    """The delivery after one more event."""
    version = delivery.version + 1
    under_way = isinstance(event, DeliveryRevised) and delivery.status == "waiting"
    progress = delivery.progress if under_way else version
    return replace(_apply(delivery, event), version=version, progress=progress)


def _apply(delivery: Delivery, event: DeliveryEvent) -> Delivery:
    status: DeliveryStatus
    match event:
        case DeliveryRequested():
            return replace(delivery, requested=event)
        case DeliveryPlaced():
            # A part that is placed again replaces the lost one.
            receipts = (*delivery.receipts[: event.part], event.receipt)
            return replace(
                delivery,
                receipts=receipts,
                placements=delivery.placements + 1,
                failures=0,
                retry_at=0.0,
                message="",
            )
        case DeliverySent():
            is_shown = event.revised or delivery.revision is None
            return replace(delivery, status="sent" if is_shown else "waiting", failures=0, retry_at=0.0)
        case DeliveryRevised():
            status = "failed" if delivery.status == "failed" else "waiting"
            return replace(delivery, status=status, revision=event.text)
        case DeliveryFailed():
            status = "failed" if event.retry_at is None else "waiting"
            return replace(
                delivery,
                status=status,
                failures=event.attempt,
                retry_at=event.retry_at or 0.0,
                message=event.message,
            )
        case DeliveryMoved():
            assert delivery.requested is not None, f"{delivery.stream} was not requested"
            requested = replace(delivery.requested, target=event.target)
            return Delivery(
                stream=delivery.stream,
                version=delivery.version,
                requested=requested,
                placements=delivery.placements,
                message=event.message,
                revision=delivery.revision,
            )
        case _:
            assert_never(event)


# --- decisions of users and workers -------------------------------------------------------------


def failed(
    delivery: Delivery, message: str, *, now: float, fraction: float, retry_after: float | None = None
) -> DeliveryFailed:
    """A failed attempt: with the time of the next one, or as the last one.

    `now` is seconds since the epoch, `fraction` random from 0 up to 1, `retry_after` the target's wait in
    seconds.
    """
    attempt = delivery.attempt
    first = FIRST_WAIT if retry_after is None else FIRST_WAIT_AS_ASKED
    wait = min(first * 2.0 ** (attempt - 1), LONGEST_WAIT) * (1 + JITTER * fraction)
    wait = max(wait, min(retry_after or 0.0, LONGEST_RETRY_AFTER))
    retry_at = None if attempt >= MAX_ATTEMPTS else now + wait
    return DeliveryFailed(delivery=delivery.id, attempt=attempt, message=message, retry_at=retry_at)


def waiting_in_line(delivery: Delivery, message: str, until: float) -> DeliveryFailed:
    """Not tried before `until`, which counts as no failure: others go first."""
    return DeliveryFailed(delivery=delivery.id, attempt=delivery.failures, message=message, retry_at=until)


def revised(delivery: Delivery, text: str) -> tuple[DeliveryRevised, ...]:
    """The end of the delivery's question; no event where it asks nothing, or has ended."""
    requested = delivery.requested
    if requested is None or requested.question is None or delivery.revision is not None:
        return ()
    return (DeliveryRevised(delivery=delivery.id, text=text),)


def read(delivery: Delivery) -> tuple[DeliverySent, ...]:
    """Mark a delivery in the inbox as read; no event if it was read before."""
    if not delivery.is_unread:
        return ()
    return (DeliverySent(delivery=delivery.id, attempt=delivery.attempt, receipt=INBOX),)


# --- beside the events of a session ---------------------------------------------------------------

FAILED = "This request failed: {message}"


def react(session: Session, version: int, event: SessionEvent, _load: StateLoader) -> Iterator[StreamEvents]:
    """The deliveries that an event of a session requests: notices to chats, and a turn's answer."""
    if lines := immediate_notices(event):
        yield from _notices(session, event, lines, f"n{version}")
    if isinstance(event, ApprovalRequested | InputRequested):
        yield from _waits(session, event, f"w{version}")
    if isinstance(event, TurnEnd) and not isinstance(event, TurnCancelled):
        turn = session.find(event.turn)
        if turn is not None and not review_rules.is_its_turn(session, turn):
            yield from _answers(session, turn, event)


def _notices(
    session: Session, event: SessionEvent, lines: Sequence[str], suffix: str
) -> Iterator[StreamEvents]:
    turn = session.current
    if turn is None or turn.id != getattr(event, "turn", None):
        return
    text = "\n".join(f"({line[0].upper()}{line[1:]}.)" for line in lines)
    chats = [(target, text) for target in turn.deliver if _is_chat(turn, target)]
    yield from requests(session, turn, chats, ok=True, suffix=suffix)


def _waits(
    session: Session, event: ApprovalRequested | InputRequested, suffix: str
) -> Iterator[StreamEvents]:
    """What waits for a person, to where only a page can answer: chats are asked by their gateway."""
    turn = session.find(event.turn)
    if turn is None:
        return
    why = event.rule if isinstance(event, ApprovalRequested) else f"{event.asker} asks"
    told = [target for target in turn.deliver if target == PUSH or target.startswith("ntfy:")]
    yield from requests(
        session, turn, [(target, f"Waits for you: {why}.") for target in told], ok=True, suffix=suffix
    )


def _answers(session: Session, turn: Turn, end: TurnCompleted | TurnFailed) -> Iterator[StreamEvents]:
    ok = isinstance(end, TurnCompleted) and not turn.was_refused
    text = end.answer if isinstance(end, TurnCompleted) else FAILED.format(message=end.message)
    if text.strip() == SILENT:
        if ok:
            return
        text = FAILED.format(message=turn.refusal)
    texts = [(target, with_news(text, _beside_end(session, turn, target, end))) for target in turn.deliver]
    yield from requests(session, turn, texts, ok=ok, files=turn.delivered)


def _beside_end(session: Session, turn: Turn, target: str, end: TurnEnd) -> tuple[str, ...]:
    """The notices below the turn's answer: what stopped it, for people; in chats what they missed, too."""
    is_chat = _is_chat(turn, target)
    if target.startswith("webhook:"):  # read by programs
        return ()
    return (*stop_notice(end, turn.id, is_chat=is_chat), *(session.news if is_chat else ()))


def _is_chat(turn: Turn, target: str) -> bool:
    """Whether the turn was sent from the chat that is the target."""
    return target.partition(":")[0] == turn.source


# --- the streams ----------------------------------------------------------------------------------

SECRETS = {"telegram": TELEGRAM_TOKEN, "webhook": WEBHOOK_SECRET}
"""The secrets that deliveries need, by the kind of target."""


def _secret(delivery: Delivery) -> str | None:
    return SECRETS.get(_target_kind(delivery))


def _labels(delivery: Delivery) -> Mapping[str, str]:
    requested = delivery.requested
    assert requested is not None, f"{delivery.stream} was not requested"
    kind, turn = _target_kind(delivery), requested.turn or ""
    return {"delivery": delivery.id, "target": kind, "turn": turn, "source": requested.source}


def _target_kind(delivery: Delivery) -> str:
    return "" if delivery.requested is None else delivery.requested.target.partition(":")[0]


def _rest(delivery: Delivery, by: str) -> tuple[DeliveryFailed, ...]:
    """It stays in the inbox, where a step of it is due."""
    if not next_steps(delivery):
        return ()
    message = f"Held back by {by}: it may have been delivered from elsewhere."
    return (DeliveryFailed(delivery=delivery.id, attempt=delivery.attempt, message=message, retry_at=None),)


STREAMS = (
    StreamKind(
        PREFIX,
        Delivery,
        evolve,
        next_steps,
        secret=_secret,
        labels=_labels,
        rest=_rest,
        rests_as="deliveries",
        about=About(DeliveryRequested, lambda _stream, event: (event.session,), ("delivery", "deliveries")),
    ),
)
