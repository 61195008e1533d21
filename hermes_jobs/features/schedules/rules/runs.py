"""Decides about each due time once: a run, a place in the schedule's queue, or a recorded miss.

| decided                            | `missed`  | the due times since the last decision                     |
|------------------------------------|-----------|-----------------------------------------------------------|
| within `ON_TIME`                   |           | the newest runs, earlier ones are missed                  |
| within half a period and `LATEST`  | run_once  | the newest runs, earlier ones are missed                  |
| later                              | run_once  | all are missed                                            |
| later than `ON_TIME`               | skip      | all are missed                                            |
| later than `ON_TIME`               | all       | each runs, the oldest first; `CATCH_UP` of them at most   |

A plan's jitter counts as part of the due time: a run that starts when it was spread to is on time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile

import msgspec

from hermes_jobs.errors import Corrupt, Rejected
from hermes_jobs.features.conditions.events import CONDITION
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.features.schedules.rules import schedule as schedules
from hermes_jobs.features.schedules.rules.names import title_of
from hermes_jobs.features.schedules.rules.schedule import CLOCK, ITSELF, Schedule
from hermes_jobs.features.schedules.rules.timing import TimingInZone, delay_of, rule_of
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader, StreamEvents, UniqueKey
from hermes_jobs.kernel.turns import session as sessions
from hermes_jobs.kernel.turns.commands import SubmitTurn
from hermes_jobs.kernel.turns.decide import decide

MOST_COUNTED = 1_000
"""Missed due times are counted up to this number."""
CATCH_UP = 100
"""The newest due times of which each may get a run."""
MOST_NEWEST = CATCH_UP + 1
"""The number of newest due times that are listed: those above, and the newest one without a run."""

_FIRST_SEARCH = 3_600.0  # seconds before now that are searched first; each further search doubles it


class Backlog(msgspec.Struct, frozen=True):
    """Due times up to now: their number, up to `MOST_COUNTED`, and the newest ones, oldest first."""

    count: int
    newest: tuple[float, ...]


def backlog(rule: TimingInZone, first: float, now: float) -> Backlog:
    """The due times from `first` (a due time) up to `now` (not before it)."""
    most = MOST_COUNTED + CATCH_UP
    dues = tuple(islice(takewhile(lambda due: due <= now, rule.following(first)), most))
    return Backlog(len(dues), dues[-MOST_NEWEST:] if len(dues) < most else _newest(rule, first, now))


def _newest(rule: TimingInZone, first: float, now: float) -> tuple[float, ...]:
    """The newest due times, searched backwards from now."""
    seconds = _FIRST_SEARCH
    while True:
        start = max(first, now - seconds)
        begun = first if start == first else rule.after(start, since=first)
        due_times = tuple(takewhile(lambda due: due <= now, rule.following(begun)))
        if len(due_times) >= MOST_NEWEST or start == first:
            return due_times[-MOST_NEWEST:]
        seconds *= 2


ON_TIME = 30.0
"""Seconds within which a run is on time: half of the shortest period."""
LATEST = 7_200.0
"""Seconds after which a missed run is not caught up, however long its period."""
MAX_QUEUED = CATCH_UP
SCOPE = "schedule"
"""Prefix of the unique keys of runs: `ID@DUE`."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """The ids for a possible run: of its turn, and of its session where it gets a new one."""

    turn: str
    session: str


class Fire(msgspec.Struct, frozen=True, kw_only=True):
    """The decision about one due time of a schedule, made at `now`. `due`: the time of its step."""

    stream: str
    due: float
    now: float
    run: Run

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The events of the decision; none where the due time was decided before, or the schedule is not
        active.
        """
        schedule: Schedule = load(self.stream)
        due = schedules.open_dues(schedule).get(self.due)
        if due is None:
            return DecisionResult()
        try:
            events = tuple(due_events(schedule, due, max(self.now, self.due), self.run))
        except Corrupt as error:  # only a newer build can read it: no due time for this one
            paused = schedules_events.SchedulePaused(schedule=schedule.id, by=ITSELF, reason=str(error))
            return DecisionResult.of(self.stream, paused)
        fired = next((event for event in events if isinstance(event, schedules_events.ScheduleFired)), None)
        if fired is None:
            return DecisionResult.of(self.stream, *events)
        key = UniqueKey(scope=SCOPE, key=f"{schedule.id}@{due:.0f}", digest=fired.turn)
        if schedule.plan is not None and schedule.plan.condition is not None:
            checking = tuple(_checking(event) if event is fired else event for event in events)
            return DecisionResult(writes=(StreamEvents(self.stream, checking),), keys=(key,))
        try:
            submitted = submission(schedule, fired, load)
        except Rejected as refused:
            return DecisionResult(
                writes=(StreamEvents(self.stream, tuple(refused_events(schedule, events, refused))),)
            )
        return DecisionResult(writes=(submitted, StreamEvents(self.stream, events)), keys=(key,))


def due_events(
    schedule: Schedule, due: float, now: float, run: Run
) -> Iterator[schedules_events.ScheduleEvent]:
    """The schedule's events for one of its due times, at `now`."""
    assert schedule.plan is not None, f"{schedule.stream} has no plan"
    if due in schedule.queued:
        yield _fired(schedule, due, run, schedule.next_due)
        return
    rule = rule_of(schedule.plan)
    missed = backlog(rule, due, now)
    delay = delay_of(schedule.id, schedule.plan, missed.newest[-1])
    if due < missed.newest[-1] > now - delay:  # its time has not come: only the newest one is so near
        missed = backlog(rule, due, missed.newest[-1] - 1)
        delay = delay_of(schedule.id, schedule.plan, missed.newest[-1])
    chosen = _chosen(schedule.plan, rule, missed, now - delay)
    if chosen is None:
        yield _missed(schedule, due, missed.newest[-1], missed.count, _after(rule, missed.newest[-1]))
        return
    earlier = [due_at for due_at in missed.newest if due_at < chosen]
    if earlier:
        yield _missed(schedule, due, earlier[-1], missed.count - len(missed.newest) + len(earlier), chosen)
    yield _decided(schedule, schedule.plan, chosen, now, run, _after(rule, chosen))


def _chosen(plan: schedules_events.Plan, rule: TimingInZone, missed: Backlog, now: float) -> float | None:
    """The due time that gets a run or is queued; None where all were missed. `now`: without the newest due
    time's delay."""
    newest = missed.newest[-1]
    if plan.missed == "all":
        return missed.newest[-CATCH_UP:][0]
    late = now - newest
    if late <= ON_TIME:
        return newest
    if plan.missed == "skip":
        return None
    following = _after(rule, newest)
    made_up_for = LATEST if following is None else min((following - newest) / 2, LATEST)
    return newest if late <= made_up_for else None


def _decided(
    schedule: Schedule, plan: schedules_events.Plan, due: float, now: float, run: Run, following: float | None
) -> schedules_events.ScheduleEvent:
    """The run of a due time, or its place in the queue."""
    is_checking = schedule.checking is not None
    is_busy = bool(schedule.running or schedule.queued or is_checking)
    if not is_busy or (plan.overlap == "parallel" and not is_checking):
        return _fired(schedule, due, run, following)
    waits = plan.overlap != "skip" or (plan.missed == "all" and now - due > ON_TIME)
    if waits and len(schedule.queued) < MAX_QUEUED:
        return schedules_events.ScheduleQueued(schedule=schedule.id, due=due, next_due=following)
    return schedules_events.ScheduleMissed(
        schedule=schedule.id, due=due, reason="overlap", next_due=following
    )


def _fired(
    schedule: Schedule, due: float, run: Run, following: float | None
) -> schedules_events.ScheduleFired:
    plan = schedule.plan
    assert plan is not None, f"{schedule.stream} has no plan"
    return schedules_events.ScheduleFired(
        schedule=schedule.id,
        due=due,
        turn=run.turn,
        session=plan.session or run.session,
        next_due=following,
        by=CLOCK,
        delay=0.0 if due in schedule.queued else delay_of(schedule.id, plan, due),
    )


def _checking(fired: schedules_events.ScheduleFired) -> schedules_events.ScheduleChecking:
    """The check of the condition in the place of the run."""
    fields = {name: getattr(fired, name) for name in schedules_events.ScheduleChecking.__struct_fields__}
    return schedules_events.ScheduleChecking(**fields)


def _missed(
    schedule: Schedule, due: float, until: float, count: int, following: float | None
) -> schedules_events.ScheduleMissed:
    return schedules_events.ScheduleMissed(
        schedule=schedule.id,
        due=due,
        until=until if count > 1 else None,
        count=min(count, MOST_COUNTED),
        reason="down",
        next_due=following,
    )


def _after(rule: TimingInZone, due: float) -> float | None:
    return rule.after(due, since=due)


def submission(
    schedule: Schedule, fired: schedules_events.ScheduleFired, load: StateLoader, text: str = ""
) -> StreamEvents:
    """The run's turn in its session; `text`, with what its condition printed, in the place of the plan's.

    Raises `Rejected` where that session accepts no more turns.
    """
    plan = schedule.plan
    assert plan is not None, f"{schedule.stream} has no plan"
    stream = sessions.stream_of(fired.session)
    opening = e.Opening(
        kind="scheduled",
        model=plan.model,
        workdir=plan.workdir,
        toolsets=plan.toolsets,
        title=title_of(plan, fired.due),
    )
    continued = plan.session is not None
    submitted = e.TurnSubmitted(
        turn=fired.turn,
        session=fired.session,
        text=text or plan.text,
        source=schedules.source_of(schedule.id),
        model=plan.model if continued else None,
        toolsets=plan.toolsets if continued else None,
        attended=False,
        opening=None if continued else opening,
        deliver=plan.deliver,
        budget_usd=plan.budget_usd,
        outside=CONDITION if text not in {"", plan.text} else "",
    )
    return StreamEvents(stream, decide(SubmitTurn(submitted), load(stream)))


def refused_events(
    schedule: Schedule, events: tuple[schedules_events.ScheduleEvent, ...], refused: Rejected
) -> Iterator[schedules_events.ScheduleEvent]:
    """The events where the session that the runs continue accepts no more turns."""
    for event in events:
        if isinstance(event, schedules_events.ScheduleFired):
            yield schedules_events.ScheduleMissed(
                schedule=schedule.id, due=event.due, reason="session_ended", next_due=event.next_due
            )
        else:
            yield event
    yield schedules_events.SchedulePaused(schedule=schedule.id, by=ITSELF, reason=refused.message)
