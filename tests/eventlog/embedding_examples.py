"""An example of each event of embeddings, every field set."""

from __future__ import annotations

from hermes_jobs.features.recall import events as recall_events
from hermes_jobs.kernel import events as e

EXAMPLES: tuple[e.Event, ...] = (
    recall_events.EmbeddingPlanned(
        embedding="v1",
        model="text-embedding-3-small",
        texts=(
            recall_events.EmbeddedText("memory", "0a1b"),
            recall_events.EmbeddedText("session-s1", "2c3d"),
        ),
    ),
)
