"""The kinds of its streams."""

from __future__ import annotations

from hermes_jobs.features.triggers.events import PREFIX
from hermes_jobs.features.triggers.rules import trigger
from hermes_jobs.kernel.streams.stream_kind import StreamKind

STREAMS = (
    StreamKind(
        PREFIX,
        trigger.Trigger,
        trigger.evolve,
        trigger.next_steps,
        labels=lambda state: {"trigger": state.name},
        rest=trigger.rest,
    ),
)
