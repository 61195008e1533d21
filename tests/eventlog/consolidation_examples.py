"""An example of each event of consolidations, every field set."""

from __future__ import annotations

from hermes_jobs.features.consolidation import events as consolidation_events
from hermes_jobs.kernel import events as e
from tests.eventlog.replay_examples import RESERVED

EXAMPLES: tuple[e.Event, ...] = (
    consolidation_events.ConsolidationRequested(
        review="o1", after=12, until=31, by="clock", reason="3 turns of a finished conversation", run=2
    ),
    consolidation_events.ConsolidationStarted(
        review="o1", step="o1-2", attempt=2, reserved=RESERVED, lost=RESERVED
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
    consolidation_events.ConsolidationFailed(
        review="o1",
        step="o1-2",
        attempt=2,
        kind="rate_limit",
        message="Zu viele Anfragen.",
        retry_at=1795440462.25,
        lost=RESERVED,
    ),
)
