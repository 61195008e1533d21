"""Sessions read again at night, for what should be remembered."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Feature

FEATURE = Feature(
    __name__,
    model_steps="steps:handlers",
    planning="plans:plan",
    tables="tables:projections",
    events="events:ConsolidationEvent",
    streams="streams:STREAMS",
    queues={"review.consolidate": "reviews"},
)
