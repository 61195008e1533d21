"""The kinds of its streams."""

from __future__ import annotations

from hermes_jobs.features.consolidation import rules
from hermes_jobs.features.consolidation.events import ConsolidationRequested
from hermes_jobs.kernel.streams.stream_kind import About, StreamKind

STREAMS = (
    StreamKind(
        rules.PREFIX,
        rules.Consolidation,
        rules.evolve,
        rules.next_steps,
        rules.charges,
        purpose=lambda _stream: rules.PURPOSE,
        about=About(ConsolidationRequested, lambda stream, _event: (stream.removeprefix(rules.PREFIX),)),
    ),
)
