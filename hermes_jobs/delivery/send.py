"""`delivery.send`: one attempt of one delivery, by its target's channel, and the attempt's event."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

import msgspec

from hermes_jobs.domain import events as e
from hermes_jobs.domain.decision import Decision, DecisionResult, StateLoader, StreamEvents, append
from hermes_jobs.domain.delivery import Delivery, Target, TargetKind, failed, parse_target
from hermes_jobs.domain.schedule import schedule as schedules
from hermes_jobs.domain.schedule.commands import retargeted
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.ports import Cancel, Clock, Ids, StepInterrupted
from hermes_jobs.errors import Rejected

logger = logging.getLogger(__name__)


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
    seconds.
    """

    def __init__(self, message: str, *, lasting: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.lasting = lasting
        self.retry_after = retry_after


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


class SendDelivery(msgspec.Struct, frozen=True, eq=False):
    """Handles the step. `redact` removes secrets from error messages."""

    channels: ChannelLookup
    clock: Clock
    ids: Ids
    redact: Callable[[str], str] = str

    def run(self, state: Delivery, step: Step, cancel: Cancel) -> Decision:
        """Run the attempt; returns the decision with its event. Raises `StepInterrupted`."""
        outcome = self._outcome(state, cancel)
        if isinstance(outcome, e.DeliveryMoved):
            return _moved(state, outcome)
        return append(state.stream, outcome)

    def _outcome(self, delivery: Delivery, cancel: Cancel) -> e.DeliveryEvent:
        assert delivery.requested is not None, f"{delivery.stream} was not requested"
        try:
            target = parse_target(delivery.requested.target)
            outcome = self.channels(target.kind).deliver(delivery, target.address, cancel)
        except StepInterrupted:
            raise
        except DeliveryError as error:
            return self._failed(delivery, error)
        except Rejected as error:
            return self._failed(delivery, DeliveryError(error.message, lasting=True))
        except Exception as error:
            logger.exception("delivery %s", delivery.id)
            name = type(error).__name__
            return self._failed(delivery, DeliveryError(f"It could not be tried ({name}); see the logs."))
        if isinstance(outcome, Moved):
            logger.warning("delivery %s: %s", delivery.id, outcome.why)
            moved = Target(target.kind, outcome.address).text
            return e.DeliveryMoved(delivery=delivery.id, target=moved, message=outcome.why)
        if isinstance(outcome, PlaceholderSent):
            return e.DeliveryPlaced(delivery=delivery.id, part=outcome.part, receipt=outcome.receipt)
        return e.DeliverySent(delivery=delivery.id, attempt=delivery.attempt, receipt=outcome.receipt)

    def _failed(self, delivery: Delivery, error: DeliveryError) -> e.DeliveryFailed:
        message = self.redact(error.message)
        if error.lasting:
            return e.DeliveryFailed(delivery=delivery.id, attempt=delivery.attempt, message=message)
        return failed(
            delivery,
            message,
            now=self.clock.now(),
            fraction=self.ids.fraction(),
            retry_after=error.retry_after,
        )


def _moved(delivery: Delivery, event: e.DeliveryMoved) -> Decision:
    """The decision to begin again at the new target; the schedule whose answer it is gets it, too."""
    requested = delivery.requested
    assert requested is not None, f"{delivery.stream} was not requested"
    _, mark, schedule = requested.source.partition(schedules.SOURCE)

    def change(load: StateLoader) -> DecisionResult:
        writes = [StreamEvents(delivery.stream, (event,))]
        if mark:
            state: schedules.Schedule = load(schedules.stream_of(schedule))
            if edits := retargeted(state, requested.target, event.target, f"delivery:{delivery.id}"):
                writes.append(StreamEvents(state.stream, edits))
        return DecisionResult(writes=tuple(writes))

    return change
