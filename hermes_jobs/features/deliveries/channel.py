"""The port of a channel, which delivers to one kind of target: what it returns, and how it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from hermes_jobs.features.deliveries.events import TargetKind
from hermes_jobs.features.deliveries.rules import Delivery
from hermes_jobs.kernel.engine.ports import Cancel


class PlaceholderSent(msgspec.Struct, frozen=True):
    """A placeholder message for the part was sent, with that receipt; the next attempt replaces it."""

    part: int
    receipt: str


class Delivered(msgspec.Struct, frozen=True):
    """The whole answer has arrived; `receipt` is the target's id for it."""

    receipt: str = ""


class Moved(msgspec.Struct, frozen=True):
    """The target's address is another one from now on; `why` says so."""

    address: str
    why: str


class DeliveryError(Exception):
    """A failed attempt. `lasting`: every further one would fail too. `retry_after`: the requested wait in
    seconds. `in_line`: nothing failed, others are sent before, and it is its turn then. `status`: what the
    target answered, 0 where it did not.
    """

    def __init__(
        self,
        message: str,
        *,
        lasting: bool = False,
        retry_after: float | None = None,
        in_line: bool = False,
        status: int = 0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.lasting = lasting
        self.retry_after = retry_after
        self.in_line = in_line
        self.status = status


ContentOf = Callable[[str], bytes | None]
"""Gives the bytes of a file by its digest; None where they are lost."""


def nothing_of(_digest: str) -> None:
    """A `ContentOf` that has no files."""


class DeliveryChannel(Protocol):
    """Delivers to one kind of target. Safe for many threads."""

    def deliver(
        self, delivery: Delivery, address: str, cancel: Cancel
    ) -> PlaceholderSent | Delivered | Moved:
        """Run the next attempt of the delivery. It may repeat one of a process that died.

        Raises `DeliveryError`; `StepInterrupted`, soon, when `cancel` fires.
        """


ChannelLookup = Callable[[TargetKind], DeliveryChannel]
"""Returns the channel of a kind of target. Raises `DeliveryError` where this process has none."""
