"""Events of a stream `delivery-ID`: one answer for one target."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event


class DeliveryRequested(Event, frozen=True, kw_only=True):
    """A delivery was requested. `target` is `cli`, `file:PATH`, `webhook:URL` or `telegram:CHAT`; `ok` is
    false where the turn failed.

    `source`: the source of the turn, such as `schedule:ID`. `workdir`: the session's folder, the base of
    relative paths. A delivery without a turn is a gateway's own message, such as the answer to a command.
    `lineage`: that of the turn; the user can rate the answer there.
    """

    delivery: str
    target: str
    text: str
    turn: str | None = None
    session: str | None = None
    source: str = ""
    ok: bool = True
    workdir: str | None = None
    lineage: str | None = None


class DeliveryPlaced(Event, frozen=True, kw_only=True):
    """A placeholder message for part `part` (from 0) was sent: replacing it is idempotent."""

    delivery: str
    part: int
    receipt: str


class DeliverySent(Event, frozen=True, kw_only=True):
    """The delivery has arrived; `receipt` is the target's id for it. For `cli`: a user has read it."""

    delivery: str
    attempt: int
    receipt: str = ""


class DeliveryFailed(Event, frozen=True, kw_only=True):
    """An attempt failed; it is retried at `retry_at` (seconds since the epoch) if that is set."""

    delivery: str
    attempt: int
    message: str
    retry_at: float | None = None


class DeliveryMoved(Event, frozen=True, kw_only=True):
    """The target has another address from now on: the delivery begins again there. `message` says why."""

    delivery: str
    target: str
    message: str


DeliveryEvent = DeliveryRequested | DeliveryPlaced | DeliverySent | DeliveryFailed | DeliveryMoved
