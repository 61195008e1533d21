"""Events of a stream `delivery-ID`: one answer on its way to one target."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event


class DeliveryRequested(Event, frozen=True, kw_only=True):
    """`target` is `cli`, `file:PATH`, `webhook:URL` or `telegram:CHAT`; `ok` false where the turn failed.

    `source`: what the turn was asked by, such as `schedule:ID`. `workdir`: the session's folder, from which a
    relative path counts. Without a turn it is a gateway's own word, such as the answer to a command.
    """

    delivery: str
    target: str
    text: str
    turn: str | None = None
    session: str | None = None
    source: str = ""
    ok: bool = True
    workdir: str | None = None


class DeliveryPlaced(Event, frozen=True, kw_only=True):
    """A placeholder for that part (from 0) stands at the target: to change it may be repeated."""

    delivery: str
    part: int
    receipt: str


class DeliverySent(Event, frozen=True, kw_only=True):
    """It has arrived; `receipt` is what the target calls it; for `cli`: somebody has read it."""

    delivery: str
    attempt: int
    receipt: str = ""


class DeliveryFailed(Event, frozen=True, kw_only=True):
    """An attempt did not arrive; with `retry_at` (seconds since the epoch) it is tried again then."""

    delivery: str
    attempt: int
    message: str
    retry_at: float | None = None


DeliveryEvent = DeliveryRequested | DeliveryPlaced | DeliverySent | DeliveryFailed
