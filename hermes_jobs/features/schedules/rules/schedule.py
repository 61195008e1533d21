"""State of a schedule, folded from a stream `schedule-ID`, and its due steps."""

from __future__ import annotations

from typing import Literal, assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Corrupt
from hermes_jobs.features.schedules import events as e
from hermes_jobs.features.schedules.rules.timing import delay_of
from hermes_jobs.kernel.turns.steps import Step

PREFIX = "schedule-"
SOURCE = "schedule:"
MAX_FAILURES = 5
"""Failed runs in a row after which a schedule pauses itself."""
ITSELF = "hermes-jobs"
"""The author of a pause by the schedule itself."""
CLOCK = "clock"
"""The author of a run at a due time."""

ScheduleStatus = Literal["active", "paused", "ended", "removed"]


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one schedule's stream at `version`; without a plan it was never added.

    `fired` is the latest due time of the clock that had a run. `running` are the turns of runs that have not
    ended, `queued` the due times that wait for them. `checking`: the run whose condition is to be checked;
    `seen`: what the condition of the last run had seen of files; `failed_checks`: in a row.
    """

    stream: str
    version: int = 0
    plan: e.Plan | None = None
    next_due: float | None = None
    fired: float | None = None
    paused: bool = False
    pause_reason: str = ""
    removed: bool = False
    running: tuple[str, ...] = ()
    queued: tuple[float, ...] = ()
    failures: int = 0
    checking: e.ScheduleChecking | None = None
    seen: str = ""
    failed_checks: int = 0

    @property
    def id(self) -> str:
        """The schedule's id."""
        return self.stream.removeprefix(PREFIX)

    @property
    def status(self) -> ScheduleStatus:
        """The schedule's status; `ended` where there is no due time left."""
        if self.removed:
            return "removed"
        if self.paused:
            return "paused"
        is_left = self.next_due is not None or self.queued or self.checking is not None
        return "active" if is_left else "ended"


def stream_of(schedule: str) -> str:
    """The stream of the schedule with that id."""
    return f"{PREFIX}{schedule}"


def source_of(schedule: str) -> str:
    """The `source` of the turns of its runs."""
    return f"{SOURCE}{schedule}"


def next_steps(schedule: Schedule) -> tuple[Step, ...]:
    """The due and future runs: the oldest queued one, the next one by the clock, and an open check."""
    steps = [
        Step(id=step_id(schedule.id, due), stream=schedule.stream, kind="schedule.fire", not_before=start)
        for start, due in open_dues(schedule).items()
    ]
    checking = schedule.checking
    if checking is not None and not (schedule.removed or schedule.paused):
        step = f"{step_id(schedule.id, checking.due)}-if"
        steps.append(Step(id=step, stream=schedule.stream, kind="schedule.check"))
    return tuple(steps)


def withdrawn(schedule: Schedule, why: str) -> tuple[e.ScheduleSkipped, ...]:
    """The end of an open check: that run is skipped."""
    if schedule.checking is None:
        return ()
    return (e.ScheduleSkipped(schedule=schedule.id, due=schedule.checking.due, message=why),)


def rest(schedule: Schedule, by: str) -> tuple[e.ScheduleSkipped | e.SchedulePaused, ...]:
    """The events that pause an active one."""
    if schedule.plan is None or schedule.status != "active":
        return ()
    return (*withdrawn(schedule, f"paused by {by}"), e.SchedulePaused(schedule=schedule.id, by=by))


def withheld(schedule: Schedule, by: str) -> tuple[e.ScheduleEdited, ...]:
    """The edit after which a command that decides about its runs has to be approved here."""
    plan = schedule.plan
    if schedule.removed or plan is None or plan.condition is None or not plan.condition.approved:
        return ()
    unapproved = replace(plan, condition=replace(plan.condition, approved=False))
    return (e.ScheduleEdited(schedule=schedule.id, plan=unapproved, by=by, next_due=schedule.next_due),)


def open_dues(schedule: Schedule) -> dict[float, float]:
    """The due times that are to be decided, by the times at which they are: the oldest queued one, and the
    next one by the clock."""
    if schedule.plan is None or schedule.removed or schedule.paused:
        return {}
    dues = {}
    is_parallel = schedule.plan.overlap == "parallel"  # then only a check is waited for
    if schedule.queued and schedule.checking is None and (is_parallel or not schedule.running):
        dues[schedule.queued[0]] = schedule.queued[0]
    if schedule.next_due is not None and schedule.next_due not in dues:
        dues[start_of(schedule.id, schedule.plan, schedule.next_due)] = schedule.next_due
    return dues


def start_of(schedule: str, plan: e.Plan, due: float) -> float:
    """When the run for `due` starts: spread by the plan's jitter, where this build can read the timing."""
    try:
        return due + delay_of(schedule, plan, due)
    except Corrupt:
        return due


def step_id(schedule: str, due: float) -> str:
    """The id of the step that fires the run for `due`."""
    return f"{schedule}-{due:.0f}"


def evolve(schedule: Schedule, event: e.ScheduleEvent) -> Schedule:
    """The schedule after one more event."""
    return replace(_apply(schedule, event), version=schedule.version + 1)


def _apply(schedule: Schedule, event: e.ScheduleEvent) -> Schedule:  # noqa: PLR0911, PLR0912 - one case an event
    match event:
        case e.ScheduleWorded():
            return schedule
        case e.ScheduleAdded() | e.ScheduleEdited():
            return replace(schedule, plan=event.plan, next_due=event.next_due)
        case e.SchedulePaused():
            return replace(schedule, paused=True, pause_reason=event.reason)
        case e.ScheduleResumed():
            return replace(
                schedule, paused=False, pause_reason="", failures=0, failed_checks=0, next_due=event.next_due
            )
        case e.ScheduleRemoved():
            return replace(schedule, removed=True, next_due=None, queued=())
        case e.ScheduleFired():
            queued = tuple(due for due in schedule.queued if due != event.due)
            fired = max(event.due, schedule.fired or event.due) if event.by == CLOCK else schedule.fired
            after = replace(
                schedule,
                running=(*schedule.running, event.turn),
                queued=queued,
                next_due=event.next_due,
                fired=fired,
            )
            if event.by != CLOCK:
                return after
            return replace(after, checking=None, failed_checks=0, seen=event.seen or schedule.seen)
        case e.ScheduleChecking():
            queued = tuple(due for due in schedule.queued if due != event.due)
            fired = max(event.due, schedule.fired or event.due)
            return replace(schedule, checking=event, queued=queued, next_due=event.next_due, fired=fired)
        case e.ScheduleSkipped():
            return replace(schedule, checking=None, failed_checks=0)
        case e.ScheduleCheckFailed():
            return replace(schedule, checking=None, failed_checks=schedule.failed_checks + 1)
        case e.ScheduleQueued():
            return replace(schedule, queued=(*schedule.queued, event.due), next_due=event.next_due)
        case e.ScheduleMissed():
            queued = tuple(due for due in schedule.queued if due != event.due)
            return replace(schedule, queued=queued, next_due=event.next_due)
        case e.ScheduleRunEnded():
            running = tuple(turn for turn in schedule.running if turn != event.turn)
            return replace(schedule, running=running, failures=_failures(schedule, event))
        case _:
            assert_never(event)


def _failures(schedule: Schedule, ended: e.ScheduleRunEnded) -> int:
    """Failed runs in a row. A cancelled run does not count, and a resumed run
    that fails again counts once.
    """
    if ended.status == "cancelled" or (ended.status == "failed" and ended.turn not in schedule.running):
        return schedule.failures
    return schedule.failures + 1 if ended.status == "failed" else 0


def run_ended(
    schedule: Schedule, turn: str, status: e.RunStatus, message: str
) -> tuple[e.ScheduleEvent, ...]:
    """The schedule's events at the end of one of its runs."""
    ended = e.ScheduleRunEnded(schedule=schedule.id, turn=turn, status=status, message=message)
    after = evolve(schedule, ended)
    if after.failures < MAX_FAILURES or after.paused or after.removed:
        return (ended,)
    reason = f"{after.failures} runs in a row have failed; the last: {message}"
    return (ended, e.SchedulePaused(schedule=schedule.id, by=ITSELF, reason=reason))


def check_failed(schedule: Schedule, due: float, message: str) -> tuple[e.ScheduleEvent, ...]:
    """The schedule's events where the condition of a run could not be checked."""
    failed = e.ScheduleCheckFailed(schedule=schedule.id, due=due, message=message)
    after = evolve(schedule, failed)
    if after.failed_checks < MAX_FAILURES or after.paused or after.removed:
        return (failed,)
    reason = f"its condition failed {after.failed_checks} times in a row; the last: {message}"
    return (failed, e.SchedulePaused(schedule=schedule.id, by=ITSELF, reason=reason))
