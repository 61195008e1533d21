"""The events between a turn's submission and its end, from the log."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.views.models import TurnView

BATCH = 1000
_ENDS = (e.TurnCompleted, e.TurnFailed, e.TurnCancelled, e.TurnMerged)


def events_of(log: EventLog, turn: TurnView) -> Sequence[RecordedEvent]:
    """The stream's events from the turn's submission to the last one about it, with those of other turns in
    between.

    Raises `LogUnavailable`.
    """
    events: list[RecordedEvent] = []
    after = turn.position - 1
    while batch := log.tail(after, BATCH, stream=turn.stream):
        events.extend(batch)
        after = batch[-1].position
        if len(batch) < BATCH or any(_is_end(record, turn) for record in batch):
            break
    last = max((at for at, record in enumerate(events) if concerns(record.event, turn.id)), default=-1)
    return events[: last + 1]


def concerns(event: e.Event, turn: str) -> bool:
    """Whether the event is about that turn."""
    return getattr(event, "turn", None) == turn


def _is_end(recorded: RecordedEvent, turn: TurnView) -> bool:
    ends = isinstance(recorded.event, _ENDS) and concerns(recorded.event, turn.id)
    return ends and recorded.recorded_at == turn.ended_at
