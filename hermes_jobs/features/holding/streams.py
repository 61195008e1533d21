"""The kinds of its streams."""

from __future__ import annotations

from hermes_jobs.features.holding import events, rules
from hermes_jobs.kernel.streams.stream_kind import About, StreamKind

STREAMS = (
    StreamKind(
        events.PREFIX,
        rules.HeldCall,
        rules.evolve,
        about=About(events.CallHeld, rules.sessions_of, ("held call", "held calls")),
    ),
    StreamKind(events.COUNTER, rules.Counter, rules.count),
)
