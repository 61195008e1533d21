"""The vocabulary of deliveries: the events of a stream `delivery-ID`, one answer for one target; the form of
targets; and the request of a delivery, as others write it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.decision import StreamEvents
from hermes_jobs.kernel.streams.field_kinds import ADDRESS
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.kernel.turns.turn import Turn

TELEGRAM_TOKEN = "TELEGRAM_BOT_TOKEN"
WEBHOOK_SECRET = "WEBHOOK_SECRET"
NTFY_TOKEN = "NTFY_TOKEN"

PREFIX = "delivery-"
INBOX = "cli"
PUSH = "push"
"""The target that is all subscribed browsers."""


class DeliveryQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The question that a delivery puts to people in a chat: `call` of `turn`, in the session of `stream`.

    `choices` are the answers offered as buttons; `prompt` stands above them. `users` may answer in a group;
    in a private chat its user may. `expires_at`: seconds since the epoch. `key`: that of the request for
    input, whose choices are numbers with `labels`; empty for an approval. `takes_text`: other words are an
    answer, too; to an approval, the reason of a refusal.
    """

    stream: str
    turn: str
    call: str
    choices: tuple[str, ...]
    prompt: str
    expires_at: float
    users: tuple[str, ...] = ()
    key: str = ""
    labels: tuple[str, ...] = ()
    takes_text: bool = False


class DeliveryRequested(Event, frozen=True, kw_only=True):
    """A delivery was requested. `target` is `cli`, `file:PATH`, `webhook:URL`, `telegram:CHAT`,
    `ntfy:TOPIC` or `push`; `ok` is false where the turn failed.

    `source`: the source of the turn, such as `schedule:ID`. `workdir`: the session's folder, the base of
    relative paths. A delivery without a turn is a gateway's own message, such as the answer to a command.
    `lineage`: that of the turn; the user can rate the answer there. `question`: what it asks.
    `attachments`: the files that go with the answer.
    """

    delivery: str
    target: Annotated[str, ADDRESS]
    text: str
    turn: str | None = None
    session: str | None = None
    source: str = ""
    ok: bool = True
    workdir: str | None = None
    lineage: str | None = None
    question: DeliveryQuestion | None = None
    attachments: tuple[Attachment, ...] = ()


class DeliveryPlaced(Event, frozen=True, kw_only=True):
    """A placeholder message for part `part` (from 0) was sent: replacing it is idempotent."""

    delivery: str
    part: int
    receipt: str


class DeliverySent(Event, frozen=True, kw_only=True):
    """The delivery has arrived; `receipt` is the target's id for it. For `cli`: a user has read it.
    `revised`: its question was decided before, and that is what it shows.
    """

    delivery: str
    attempt: int
    receipt: str = ""
    revised: bool = False


class DeliveryFailed(Event, frozen=True, kw_only=True):
    """An attempt failed; it is retried at `retry_at` (seconds since the epoch) if that is set. `attempt` is
    the number of failures in a row; as before where it waits in line behind others.
    """

    delivery: str
    attempt: int
    message: str
    retry_at: float | None = None


class DeliveryMoved(Event, frozen=True, kw_only=True):
    """The target has another address from now on: the delivery begins again there. `message` says why."""

    delivery: str
    target: str
    message: str


class DeliveryRevised(Event, frozen=True, kw_only=True):
    """The question of the delivery is over: its message shows `text` in the place of the buttons."""

    delivery: str
    text: str


DeliveryEvent = (
    DeliveryRequested | DeliveryPlaced | DeliverySent | DeliveryFailed | DeliveryMoved | DeliveryRevised
)


# --- targets --------------------------------------------------------------------------------------

TargetKind = Literal["cli", "file", "webhook", "telegram", "ntfy", "push"]

_FORMS = "cli, file:PATH, webhook:URL, telegram:CHAT, ntfy:TOPIC or push"
_URL = re.compile(r"https?://(?P<authority>[^/?#]+)(?P<rest>[^\s#]*)", re.IGNORECASE)
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:@\[\]]+)(:\d{1,5})?", re.IGNORECASE)
_SECRET_QUERY = re.compile(
    r"[?&;](?:[\w.-]*(?:password|passwd|pwd|token|api_?key|secret)|key|sig|signature)=", re.IGNORECASE
)
_TOPIC = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_CHAT = re.compile(r"-?[1-9]\d{0,18}(?:/[1-9]\d{0,18})?|@[A-Za-z]\w{3,31}", re.ASCII)


class Target(msgspec.Struct, frozen=True):
    """The target of an answer. `address` is a path, a URL, a chat or a topic; empty for `cli` and `push`."""

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
    if kind == PUSH:
        if address:
            raise _refused(target, "it goes to all browsers that subscribed", PUSH)
        return Target("push")
    if kind == "file":
        return _file(target, address)
    if kind == "webhook":
        return _webhook(target, address)
    if kind == "telegram":
        if not _CHAT.fullmatch(address):
            raise _refused(
                target,
                "a chat is a number, with /N for a topic, or @name of a channel",
                "telegram:123456789",
            )
        return Target("telegram", address)
    if kind == "ntfy":
        if not _TOPIC.fullmatch(address):
            raise _refused(
                target, "a topic has at most 64 letters, digits, - and _", "ntfy:a-name-nobody-guesses"
            )
        return Target("ntfy", address)
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


# --- what others write ----------------------------------------------------------------------------


def stream_of(delivery: str) -> str:
    """The stream of the delivery with that id."""
    return f"{PREFIX}{delivery}"


def requests(
    session: Session,
    turn: Turn,
    texts: Iterable[tuple[str, str]],
    *,
    ok: bool,
    suffix: str = "",
    files: tuple[Attachment, ...] = (),
) -> Iterator[StreamEvents]:
    """The request for each target of the turn and its text, with the files; `suffix` tells those of one turn
    apart."""
    for index, (target, text) in enumerate(texts):
        # A resumed turn delivers again, under another id.
        delivery = f"d{turn.id}x{turn.times_resumed}x{index}{suffix}"
        requested = DeliveryRequested(
            delivery=delivery,
            target=target,
            turn=turn.id,
            session=session.id,
            text=text,
            source=turn.source,
            ok=ok,
            workdir=_workdir(session),
            lineage=session.lineage,
            attachments=files,
        )
        yield StreamEvents(stream_of(delivery), (requested,))


def _workdir(session: Session) -> str | None:
    if session.started is not None:
        return session.started.workdir
    return session.opening.workdir if session.opening else None
