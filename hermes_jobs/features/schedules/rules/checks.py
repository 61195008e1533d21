"""What follows from the check of a run's condition: the run, a recorded skip, or a failure that is told."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.conditions.events import Checked, Condition
from hermes_jobs.features.deliveries import events as deliveries
from hermes_jobs.features.schedules import events as e
from hermes_jobs.features.schedules.rules.runs import refused_events, submission
from hermes_jobs.features.schedules.rules.schedule import Schedule, check_failed, source_of
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader, StreamEvents

FAILED = "The condition of the schedule “{name}” failed, so it did not run: {message}"
PAUSED = "The schedule has paused itself; `hermes-jobs schedule resume {schedule}` lets it continue."


class Conclude(msgspec.Struct, frozen=True, kw_only=True):
    """The decision about the run `turn` after the check of its condition."""

    stream: str
    turn: str
    condition: Condition
    checked: Checked

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The events; none where the check was withdrawn, or has to be made again with a new condition."""
        schedule: Schedule = load(self.stream)
        checking, plan = schedule.checking, schedule.plan
        if checking is None or checking.turn != self.turn or plan is None or plan.condition != self.condition:
            return DecisionResult()
        if self.checked.ruling == "run":
            text = self.checked.with_output(plan.text, self.condition.command)
            return run(schedule, checking, load, text, self.checked.seen)
        if self.checked.ruling == "skip":
            skipped = e.ScheduleSkipped(schedule=schedule.id, due=checking.due, message=self.checked.message)
            return DecisionResult.of(self.stream, skipped)
        events = check_failed(schedule, checking.due, self.checked.message)
        own = StreamEvents(self.stream, events)
        return DecisionResult(writes=(own, *_told(schedule, checking, events)), failed=True)


def run(
    schedule: Schedule, checking: e.ScheduleChecking, load: StateLoader, text: str = "", seen: str = ""
) -> DecisionResult:
    """The run that was checked; `text` in the place of the plan's."""
    fired = e.ScheduleFired(
        schedule=schedule.id,
        due=checking.due,
        turn=checking.turn,
        session=checking.session,
        next_due=schedule.next_due,
        delay=checking.delay,
        seen=seen,
    )
    try:
        submitted = submission(schedule, fired, load, text)
    except Rejected as refused:
        skipped = e.ScheduleSkipped(schedule=schedule.id, due=checking.due, message=refused.message)
        rest = tuple(refused_events(schedule, (), refused))
        return DecisionResult.of(schedule.stream, skipped, *rest)
    return DecisionResult(writes=(submitted, StreamEvents(schedule.stream, (fired,))))


def _told(
    schedule: Schedule, checking: e.ScheduleChecking, events: tuple[e.ScheduleEvent, ...]
) -> Iterator[StreamEvents]:
    """The failure, to the targets of the schedule's answers."""
    plan, failed = schedule.plan, events[0]
    assert plan is not None, f"{schedule.stream} has no plan"
    assert isinstance(failed, e.ScheduleCheckFailed), f"{failed} is no failure"
    text = FAILED.format(name=plan.name, message=failed.message)
    if len(events) > 1:
        text = f"{text}\n{PAUSED.format(schedule=schedule.id)}"
    for index, target in enumerate(plan.deliver):
        delivery = f"d{checking.turn}x{index}if"
        requested = deliveries.DeliveryRequested(
            delivery=delivery,
            target=target,
            text=text,
            source=source_of(schedule.id),
            ok=False,
            workdir=plan.workdir,
        )
        yield StreamEvents(deliveries.stream_of(delivery), (requested,))
