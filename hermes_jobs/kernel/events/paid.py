"""The events with the usage and cost of a model call."""

from __future__ import annotations

from hermes_jobs.features.consolidation.events import ConsolidationStarted
from hermes_jobs.features.recall.events import EmbeddingEnded, EmbeddingFailed, EmbeddingStarted
from hermes_jobs.features.replay.events import ReplayCallEnded, ReplayCallFailed, ReplayCallStarted
from hermes_jobs.kernel.events.session.model_call import ModelCallFailed, ModelReplied, ResponseBooked
from hermes_jobs.kernel.events.session.reference import ReferenceFailed, ReferenceReplied
from hermes_jobs.kernel.streams.usage import NO_USAGE

PaidStart = ReplayCallStarted | EmbeddingStarted | ConsolidationStarted
"""Starts of model calls outside of sessions."""
PaidFailure = ModelCallFailed | ReferenceFailed | ReplayCallFailed | EmbeddingFailed
CallOutcome = ModelReplied | ModelCallFailed | ReferenceReplied | ReferenceFailed
PaidOutcome = (
    CallOutcome | ResponseBooked | ReplayCallEnded | ReplayCallFailed | EmbeddingEnded | EmbeddingFailed
)


def billed_usd(event: PaidOutcome) -> float | None:
    """The reported cost of a call in US dollars; None if the price is not known.

    A failed call without reported usage costs nothing.
    """
    return 0.0 if isinstance(event, PaidFailure) and event.usage == NO_USAGE else event.cost_usd
