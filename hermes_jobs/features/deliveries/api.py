"""What can be done with deliveries. Every function raises `LogUnavailable`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hermes_jobs.features.deliveries.channel import (
    ContentOf,
    Delivered,
    DeliveryChannel,
    DeliveryError,
    Moved,
    PlaceholderSent,
    nothing_of,
)
from hermes_jobs.features.deliveries.events import (
    PUSH,
    TELEGRAM_TOKEN,
    WEBHOOK_SECRET,
    parse_target,
    stream_of,
)
from hermes_jobs.features.deliveries.rules import Delivery, read, revised
from hermes_jobs.features.deliveries.tables import (
    IN_THE_INBOX,
    DeliveryView,
    count_unread,
    select_deliveries,
    select_delivery,
    select_open_questions,
)
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader, StreamEvents

__all__ = [
    "IN_THE_INBOX",
    "PUSH",
    "TELEGRAM_TOKEN",
    "WEBHOOK_SECRET",
    "ContentOf",
    "Delivered",
    "Delivery",
    "DeliveryChannel",
    "DeliveryError",
    "DeliveryView",
    "Moved",
    "PlaceholderSent",
    "deliveries",
    "delivery",
    "find_delivery",
    "mark_as_read",
    "nothing_of",
    "open_questions",
    "parse_target",
    "revised",
    "unread",
]

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


def deliveries(
    application: Application, *, turn: str | None = None, inbox: bool = False, limit: int | None = None
) -> tuple[DeliveryView, ...]:
    """Deliveries, newest first: of a turn, only those in the inbox."""
    return application.views.read(select_deliveries, turn=turn, inbox=inbox, limit=limit)


def delivery(application: Application, name: str) -> DeliveryView:
    """The delivery with that id or prefix, or `last`. Raises `Rejected`: `ambiguous`, `unknown_delivery`."""
    return application.views.read(select_delivery, name)


def find_delivery(application: Application, name: str) -> str:
    """The id of that delivery. Raises `Rejected`, as `delivery` does."""
    return delivery(application, name).delivery


def unread(application: Application) -> int:
    """The number of deliveries in the inbox."""
    return application.views.read(count_unread)


def open_questions(application: Application) -> tuple[str, ...]:
    """The ids of the deliveries whose questions are not over, oldest first."""
    return application.views.read(select_open_questions)


def mark_as_read(application: Application, deliveries: Iterable[DeliveryView]) -> None:
    """Take them out of the inbox."""
    streams = [stream_of(each.delivery) for each in deliveries if each.status in {"unread", "failed"}]

    def change(load: StateLoader) -> DecisionResult:
        writes = (StreamEvents(stream, read(load(stream))) for stream in streams)
        return DecisionResult(writes=tuple(write for write in writes if write.events))

    if streams:
        application.engine().change(change, "inbox read")
