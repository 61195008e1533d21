"""An example of each event of consolidations, every field set."""

from __future__ import annotations

from hermes_jobs.features.consolidation import events as consolidation_events
from hermes_jobs.kernel import events as e

EXAMPLES: tuple[e.Event, ...] = (
    consolidation_events.ConsolidationRequested(
        review="o1", after=12, until=31, by="clock", reason="3 turns of a finished conversation", run=2
    ),
    consolidation_events.ConsolidationEnded(
        review="o1",
        step="o1-2",
        attempt=2,
        model="gpt-5-mini",
        saved=3,
        known=1,
        refused=(
            consolidation_events.RefusedObservation(4, "memory_scan", "Refused by the rule «secrecy»."),
        ),
    ),
)
