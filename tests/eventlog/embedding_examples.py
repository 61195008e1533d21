"""An example of each event of embeddings, every field set."""

from __future__ import annotations

from hermes_jobs.domain import events as e
from hermes_jobs.domain.usage import Usage
from tests.eventlog.replay_examples import RESERVED, USAGE

EXAMPLES: tuple[e.Event, ...] = (
    e.EmbeddingPlanned(
        embedding="v1",
        model="text-embedding-3-small",
        texts=(e.EmbeddedText("memory", "0a1b"), e.EmbeddedText("session-s1", "2c3d")),
    ),
    e.EmbeddingStarted(step="v1-1", attempt=2, reserved=RESERVED, lost=RESERVED),
    e.EmbeddingEnded(
        step="v1-1",
        attempt=2,
        model="text-embedding-3-small",
        dimensions=1536,
        usage=USAGE,
        cost_usd=0.25,
        estimated=Usage(7),
        estimated_cost_usd=0.5,
    ),
    e.EmbeddingFailed(
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
