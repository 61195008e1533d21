"""The end of a turn that a schedule started: the end of a run."""

from __future__ import annotations

from collections.abc import Iterator

from hermes_jobs.features.deliveries import events as deliveries
from hermes_jobs.features.schedules.events import SchedulePaused
from hermes_jobs.features.schedules.rules import schedule as schedules
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.decision import StateLoader, StreamEvents
from hermes_jobs.kernel.turns import review_rules
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn

PAUSED = (
    "The schedule “{name}” has paused itself: {reason} "
    "`hermes-jobs schedule resume {schedule}` lets it continue."
)


def run_ended(session: Session, end: e.TurnEnd, load: StateLoader) -> Iterator[StreamEvents]:
    """The end of a run, where a schedule started the turn."""
    turn = session.find(end.turn)
    if turn is not None and not review_rules.is_its_turn(session, turn):
        yield from _run_ended(session, turn, end, load)


def _run_ended(session: Session, turn: Turn, end: e.TurnEnd, load: StateLoader) -> Iterator[StreamEvents]:
    if not turn.source.startswith(schedules.SOURCE):
        return
    stream = schedules.stream_of(turn.source.removeprefix(schedules.SOURCE))
    schedule: schedules.Schedule = load(stream)
    if schedule.plan is None:
        return
    if isinstance(end, e.TurnCompleted) and turn.was_refused:
        events = schedules.run_ended(schedule, turn.id, "failed", turn.refusal)
    elif isinstance(end, e.TurnCompleted):
        events = schedules.run_ended(schedule, turn.id, "completed", "")
    elif isinstance(end, e.TurnFailed):
        events = schedules.run_ended(schedule, turn.id, "failed", end.message)
    else:
        events = schedules.run_ended(schedule, turn.id, "cancelled", f"cancelled by {end.by}")
    yield StreamEvents(stream, events)
    paused = events[-1]
    if isinstance(paused, SchedulePaused):
        text = PAUSED.format(name=schedule.plan.name, reason=paused.reason, schedule=schedule.id)
        texts = [(target, text) for target in turn.deliver]
        yield from deliveries.requests(session, turn, texts, ok=False, suffix="p")
