"""The kinds of its streams."""

from __future__ import annotations

from hermes_jobs.features.recall import rules
from hermes_jobs.kernel.streams import budgets
from hermes_jobs.kernel.streams.stream_kind import StreamKind

STREAMS = (
    StreamKind(
        rules.PREFIX,
        rules.Embedding,
        rules.evolve,
        rules.next_steps,
        budgets.helper_charges,
        purpose=lambda _stream: "embedding",
    ),
)
