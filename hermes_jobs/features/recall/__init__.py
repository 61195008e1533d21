"""What fits a turn's text, found by words and vectors."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Feature

FEATURE = Feature(
    __name__,
    model_steps="steps:handlers",
    planning="plans:plan_vectors",
    tables="tables:projections",
    events="events:EmbeddingEvent",
    streams="streams:STREAMS",
    queues={"memory.embed": "reviews"},
)
