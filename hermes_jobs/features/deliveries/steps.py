"""`delivery.send`: one attempt of one delivery, by its target's channel, and the attempt's event."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, assert_never

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.channel import (
    ChannelLookup,
    DeliveryChannel,
    DeliveryError,
    Moved,
    PlaceholderSent,
)
from hermes_jobs.features.deliveries.events import (
    NTFY_TOKEN,
    WEBHOOK_SECRET,
    DeliveryEvent,
    DeliveryFailed,
    DeliveryMoved,
    DeliveryPlaced,
    DeliverySent,
    Target,
    TargetKind,
    parse_target,
)
from hermes_jobs.features.deliveries.rules import Delivery, failed, waiting_in_line
from hermes_jobs.features.schedules.rules import schedule as schedules
from hermes_jobs.features.schedules.rules.commands import retargeted
from hermes_jobs.kernel import feature
from hermes_jobs.kernel.engine.ports import Cancel, StepHandler, StepInterrupted
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents, append
from hermes_jobs.kernel.turns.steps import Step, StepKind
from hermes_jobs.system.clock import Clock
from hermes_jobs.system.ids import Ids

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

logger = logging.getLogger(__name__)


class SendDelivery(msgspec.Struct, frozen=True, eq=False):
    """Handles the step. `redact` removes secrets from error messages."""

    channels: ChannelLookup
    clock: Clock
    ids: Ids
    redact: Callable[[str], str] = str

    def run(self, state: Delivery, step: Step, cancel: Cancel) -> Decision:
        """Run the attempt; returns the decision with its event. Raises `StepInterrupted`."""
        outcome = self._outcome(state, cancel)
        if isinstance(outcome, DeliveryMoved):
            return _moved(state, outcome)
        return append(state.stream, outcome, failed=isinstance(outcome, DeliveryFailed))

    def _outcome(self, delivery: Delivery, cancel: Cancel) -> DeliveryEvent:
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
            return DeliveryMoved(delivery=delivery.id, target=moved, message=outcome.why)
        if isinstance(outcome, PlaceholderSent):
            return DeliveryPlaced(delivery=delivery.id, part=outcome.part, receipt=outcome.receipt)
        return DeliverySent(
            delivery=delivery.id,
            attempt=delivery.attempt,
            receipt=outcome.receipt,
            revised=delivery.revision is not None,
        )

    def _failed(self, delivery: Delivery, error: DeliveryError) -> DeliveryFailed:
        message = self.redact(error.message)
        if error.lasting:
            return DeliveryFailed(delivery=delivery.id, attempt=delivery.attempt, message=message)
        if error.in_line:
            return waiting_in_line(delivery, message, self.clock.now() + (error.retry_after or 0.0))
        return failed(
            delivery,
            message,
            now=self.clock.now(),
            fraction=self.ids.fraction(),
            retry_after=error.retry_after,
        )


def _moved(delivery: Delivery, event: DeliveryMoved) -> Decision:
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


def handlers(application: Application) -> Mapping[StepKind, StepHandler]:
    """The handler of each kind of step."""
    channels = DeliveryChannels(application)
    redact = application.settings.secrets.redact
    send = SendDelivery(channels, clock=application.clock, ids=application.ids, redact=redact)
    return {"delivery.send": send}


class DeliveryChannels:
    """One channel for each kind of target. Safe for many threads."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._content_of = application.attached_content
        self._settings = application.settings
        self._environ = application.environ
        self._clock = application.clock
        self._lock = threading.Lock()
        self._made: dict[TargetKind, DeliveryChannel] = {}

    def __call__(self, kind: TargetKind) -> DeliveryChannel:
        """The channel of that kind. Raises `DeliveryError` where this process has none."""
        with self._lock:
            if kind not in self._made:
                self._made[kind] = self._new(kind)
            return self._made[kind]

    def _new(self, kind: TargetKind) -> DeliveryChannel:
        match kind:
            case "cli":
                raise DeliveryError("What goes to the inbox waits there for its reader.", lasting=True)
            case "file":
                from hermes_jobs.features.deliveries.channels.file import FileChannel

                return FileChannel(
                    home=self._settings.paths.home,
                    environ=self._environ,
                    clock=self._clock,
                    content_of=self._content_of,
                )
            case "webhook":
                from hermes_jobs.features.deliveries.channels.webhook import WebhookChannel

                secret = self._settings.secrets.get(WEBHOOK_SECRET)
                return WebhookChannel(secret, clock=self._clock, content_of=self._content_of)
            case "telegram":
                return self._telegram()
            case "ntfy":
                from hermes_jobs.features.deliveries.channels.ntfy import NtfyChannel

                return NtfyChannel(
                    self._settings.serve, self._settings.secrets.get(NTFY_TOKEN), clock=self._clock
                )
            case "push":
                make = feature.channel(kind)
                if make is None:
                    raise DeliveryError("This build cannot notify browsers.", lasting=True)
                pushing: DeliveryChannel = make(self._application)
                return pushing
            case _:
                assert_never(kind)

    def _telegram(self) -> DeliveryChannel:
        try:
            make = feature.channel("telegram")
        except ModuleNotFoundError as error:
            raise DeliveryError(
                "The worker cannot speak to Telegram: pip install 'hermes-jobs[telegram]'."
            ) from error
        if make is None:
            raise DeliveryError("This build cannot speak to Telegram.")
        made: DeliveryChannel = make(self._settings, self._content_of)
        return made
