"""An example of each event of embeddings, every field set."""

from __future__ import annotations

from hermes_jobs.features.recall import events as recall_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.usage import Usage
from tests.eventlog.replay_examples import RESERVED, USAGE

EXAMPLES: tuple[e.Event, ...] = (
    recall_events.EmbeddingPlanned(
        embedding="v1",
        model="text-embedding-3-small",
        texts=(
            recall_events.EmbeddedText("memory", "0a1b"),
            recall_events.EmbeddedText("session-s1", "2c3d"),
        ),
    ),
    recall_events.EmbeddingStarted(step="v1-1", attempt=2, reserved=RESERVED, lost=RESERVED),
    recall_events.EmbeddingEnded(
        step="v1-1",
        attempt=2,
        model="text-embedding-3-small",
        dimensions=1536,
        usage=USAGE,
        cost_usd=0.25,
        estimated=Usage(7),
        estimated_cost_usd=0.5,
    ),
    recall_events.EmbeddingFailed(
        step="v1-1",
        attempt=1,
        kind="rate_limit",
        message="Zu viele Anfragen.",
        model="text-embedding-3-small",
        retry_at=1795440462.25,
        usage=USAGE,
        cost_usd=0.25,
        estimated=Usage(7),
        estimated_cost_usd=0.5,
    ),
)
