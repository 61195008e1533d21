"""The kinds of its streams."""

from __future__ import annotations

from hermes_jobs.features.schedules.rules import schedule
from hermes_jobs.kernel.streams.stream_kind import StreamKind

STREAMS = (
    StreamKind(
        schedule.PREFIX,
        schedule.Schedule,
        schedule.evolve,
        schedule.next_steps,
        rest=schedule.rest,
        rests_as="schedules",
        withheld=schedule.withheld,
    ),
)
