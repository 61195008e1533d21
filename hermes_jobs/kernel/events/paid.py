"""The events with the usage and cost of a model call."""

from __future__ import annotations

from hermes_jobs.features.replay.events import ReplayCallEnded
from hermes_jobs.kernel.events.helper_calls import HelperCallEnded, HelperCallFailed
from hermes_jobs.kernel.events.session.model_call import ModelCallFailed, ModelReplied, ResponseBooked
from hermes_jobs.kernel.events.session.reference import ReferenceFailed, ReferenceReplied
from hermes_jobs.kernel.streams.usage import NO_USAGE

PaidFailure = ModelCallFailed | ReferenceFailed | HelperCallFailed
CallOutcome = ModelReplied | ModelCallFailed | ReferenceReplied | ReferenceFailed
PaidOutcome = CallOutcome | ResponseBooked | HelperCallEnded | HelperCallFailed | ReplayCallEnded


def billed_usd(event: PaidOutcome) -> float | None:
    """The reported cost of a call in US dollars; None if the price is not known.

    A failed call without reported usage costs nothing.
    """
    return 0.0 if isinstance(event, PaidFailure) and event.usage == NO_USAGE else event.cost_usd
