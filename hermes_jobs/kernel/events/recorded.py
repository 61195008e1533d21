"""An event as it stands in the log, with its author and cause."""

from __future__ import annotations

import msgspec

from hermes_jobs.kernel.events.event import Event


class EventMeta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The author and cause of an event: `causation` and `correlation` are ids of steps, turns or commands.

    `by`: the person who asked for it, such as `web:anna`, where the event itself does not say so; empty for
    one at the command line.
    """

    worker: str
    causation: str | None = None
    correlation: str | None = None
    by: str = ""


class RecordedEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event as stored. `recorded_at` is ISO 8601, UTC, microseconds; `hash` chains the stream."""

    position: int
    stream: str
    version: int
    type: str
    event: Event
    meta: EventMeta
    schema: int
    recorded_at: str
    hash: str
