"""A delivery: its target, its state as folded from a stream `delivery-ID`, and its retry times.

requested ─▶ (placed ─▶ placed …) ─▶ sent
    │  ▲          │  ▲
    ▼  └ waiting ◀┘  └ a placeholder for each part, changed into it by the attempt that follows
  failed
"""

from __future__ import annotations

import re
from typing import Literal, assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain import events as e
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.domain.session.titles import printable
from hermes_jobs.errors import Rejected

PREFIX = "delivery-"
INBOX = "cli"
SILENT = "[SILENT]"
"""An answer with exactly this text is not delivered."""

MAX_ATTEMPTS = 30
"""Failed attempts in a row after which a delivery has failed; with these waits, after about a day."""
FIRST_WAIT = 10.0
LONGEST_WAIT = 3_600.0
LONGEST_RETRY_AFTER = 86_400.0
"""Longest wait, in seconds, that a target's `Retry-After` can ask for."""
JITTER = 0.2

TargetKind = Literal["cli", "file", "webhook", "telegram"]
DeliveryStatus = Literal["waiting", "sent", "failed"]

_FORMS = "cli, file:PATH, webhook:URL or telegram:CHAT"
_URL = re.compile(r"https?://(?P<authority>[^/?#]+)(?P<rest>[^\s#]*)", re.IGNORECASE)
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:@\[\]]+)(:\d{1,5})?", re.IGNORECASE)
_SECRET_QUERY = re.compile(
    r"[?&;](?:[\w.-]*(?:password|passwd|pwd|token|api_?key|secret)|key|sig|signature)=", re.IGNORECASE
)
_CHAT = re.compile(r"-?[1-9]\d{0,18}|@[A-Za-z]\w{3,31}", re.ASCII)


class Target(msgspec.Struct, frozen=True):
    """The target of an answer. `address` is a path, a URL or a chat; empty for `cli`."""

    kind: TargetKind
    address: str = ""

    @property
    def text(self) -> str:
        """The target as text, in the form in which it is stored and shown."""
        return f"{self.kind}:{self.address}" if self.address else self.kind


def parse_target(text: str) -> Target:
    """Parse a target's text. Raises `Rejected`, kind `usage`, for an invalid one."""
    target = text.strip()
    kind, colon, address = target.partition(":")
    kind, address = kind.strip().lower(), address.strip()
    if target != printable(target) or "\n" in target or "\t" in target:
        raise _refused(target, "it holds control characters")
    if kind == INBOX and not address:
        return Target("cli")
    if kind == "file":
        return _file(target, address)
    if kind == "webhook":
        return _webhook(target, address)
    if kind == "telegram":
        if not _CHAT.fullmatch(address):
            raise _refused(target, "a chat is a number, or @name of a channel", "telegram:123456789")
        return Target("telegram", address)
    if kind in {"http", "https"} and colon:
        raise _refused(target, "a URL needs its kind before it", f"webhook:{target}")
    if target.startswith(("/", "~", ".")):
        raise _refused(target, "a path needs its kind before it", f"file:{target}")
    raise _refused(target, "there is no such target")


def _file(text: str, path: str) -> Target:
    if not path or path.endswith(("/", "/.", "/..")) or path in {".", "..", "~"}:
        raise _refused(text, "it names no file", "file:~/answers.md")
    return Target("file", path)


def _webhook(text: str, url: str) -> Target:
    match = _URL.fullmatch(url)
    if match is None:
        raise _refused(text, "a webhook is an http or https URL", "webhook:https://example.com/hook")
    if "@" in match["authority"] or _SECRET_QUERY.search(match["rest"]):
        # Not shown, because the message may not contain the secret either.
        raise Rejected(
            "This webhook's URL holds a password or a token, which would stay in the log forever.",
            kind="usage",
            hint="Use a URL without it: every delivery is signed with WEBHOOK_SECRET instead.",
        )
    host = _HOST.fullmatch(match["authority"])
    if host is None or int((host[2] or ":1")[1:]) not in range(1, 65_536):
        raise _refused(text, "its host or port is not valid", "webhook:https://example.com/hook")
    return Target("webhook", url)


def _refused(target: str, why: str, instead: str = "") -> Rejected:
    hint = f"For example {instead}" if instead else f"Targets are {_FORMS}."
    return Rejected(f"Nothing can be delivered to {printable(target)!r}: {why}.", kind="usage", hint=hint)


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one delivery's stream at `version`.

    `receipts` are the placeholder messages at the target, one per part; all but the last one have been
    replaced by their parts. `placements` counts all placeholders ever sent, `failures` failed attempts in a
    row; `message` says why the last attempt failed.
    """

    stream: str
    version: int = 0
    requested: e.DeliveryRequested | None = None
    status: DeliveryStatus = "waiting"
    failures: int = 0
    retry_at: float = 0.0
    receipts: tuple[str, ...] = ()
    placements: int = 0
    message: str = ""

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


def stream_of(delivery: str) -> str:
    """The stream of the delivery with that id."""
    return f"{PREFIX}{delivery}"


def next_steps(delivery: Delivery) -> tuple[Step, ...]:
    """The next attempt, if any. A delivery to the inbox has no step: it is read there."""
    requested = delivery.requested
    if requested is None or delivery.status != "waiting" or requested.target == INBOX:
        return ()
    step = Step(
        id=f"{delivery.id}-{delivery.version}",
        stream=delivery.stream,
        kind="delivery.send",
        attempt=delivery.attempt,
        not_before=delivery.retry_at,
    )
    return (step,)


def evolve(delivery: Delivery, event: e.DeliveryEvent) -> Delivery:
    """The delivery after one more event."""
    return replace(_apply(delivery, event), version=delivery.version + 1)


def _apply(delivery: Delivery, event: e.DeliveryEvent) -> Delivery:
    match event:
        case e.DeliveryRequested():
            return replace(delivery, requested=event)
        case e.DeliveryPlaced():
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
        case e.DeliverySent():
            return replace(delivery, status="sent", retry_at=0.0)
        case e.DeliveryFailed():
            status: DeliveryStatus = "failed" if event.retry_at is None else "waiting"
            return replace(
                delivery,
                status=status,
                failures=event.attempt,
                retry_at=event.retry_at or 0.0,
                message=event.message,
            )
        case e.DeliveryMoved():
            assert delivery.requested is not None, f"{delivery.stream} was not requested"
            requested = replace(delivery.requested, target=event.target)
            return Delivery(
                stream=delivery.stream,
                version=delivery.version,
                requested=requested,
                placements=delivery.placements,
                message=event.message,
            )
        case _:
            assert_never(event)


# --- decisions of users and workers -------------------------------------------------------------


def failed(
    delivery: Delivery, message: str, *, now: float, fraction: float, retry_after: float | None = None
) -> e.DeliveryFailed:
    """A failed attempt: with the time of the next one, or as the last one.

    `now` is seconds since the epoch, `fraction` random from 0 up to 1, `retry_after` the target's wait in
    seconds.
    """
    attempt = delivery.attempt
    wait = min(FIRST_WAIT * 2.0 ** (attempt - 1), LONGEST_WAIT) * (1 + JITTER * fraction)
    wait = max(wait, min(retry_after or 0.0, LONGEST_RETRY_AFTER))
    retry_at = None if attempt >= MAX_ATTEMPTS else now + wait
    return e.DeliveryFailed(delivery=delivery.id, attempt=attempt, message=message, retry_at=retry_at)


def read(delivery: Delivery) -> tuple[e.DeliverySent, ...]:
    """Mark a delivery in the inbox as read; no event if it was read before."""
    if not delivery.is_unread:
        return ()
    return (e.DeliverySent(delivery=delivery.id, attempt=delivery.attempt, receipt=INBOX),)
