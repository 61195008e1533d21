"""Commands on a schedule, from users and the agent: each is a decision against the schedule's stream.

Every command raises `Rejected` where it is not possible: kind `unknown_schedule` for a missing schedule,
`usage` for an invalid request, and specific kinds otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.events import parse_target
from hermes_jobs.features.schedules import events as e
from hermes_jobs.features.schedules.rules import schedule as schedules
from hermes_jobs.features.schedules.rules.names import clean_name
from hermes_jobs.features.schedules.rules.runs import Run, submission
from hermes_jobs.features.schedules.rules.schedule import Schedule, withdrawn
from hermes_jobs.features.schedules.rules.timing import rule_of, zone_of
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader, StreamEvents
from hermes_jobs.kernel.turns import session as sessions
from hermes_jobs.kernel.turns.session import Session

USER = "user"
MAX_JITTER = 86_400.0  # seconds

Replan = Callable[[e.Plan], e.Plan]
"""Returns the new plan for the current one."""


class ScheduleCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command on a schedule at the time `now`. `by`: `user`, or the turn of the agent."""

    schedule: str
    now: float
    by: str = USER

    @property
    def stream(self) -> str:
        """The schedule's stream."""
        return schedules.stream_of(self.schedule)

    def existing(self, load: StateLoader) -> tuple[Schedule, e.Plan]:
        """The schedule and its plan. Raises `Rejected` where there is none or it was removed."""
        schedule: Schedule = load(self.stream)
        if schedule.plan is None or schedule.removed:
            problem = "was removed" if schedule.removed else "is not there"
            raise Rejected(
                f"The schedule {self.schedule} {problem}.",
                kind="unknown_schedule",
                hint="See `hermes-jobs schedule list`.",
                tool_hint="Use the action `list` to see which there are.",
            )
        return schedule, schedule.plan

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The command's events and its answer."""
        raise NotImplementedError

    def changed(self, *events: e.ScheduleEvent) -> DecisionResult:
        """A result with these events of the schedule."""
        return DecisionResult.of(self.stream, *events)


class Add(ScheduleCommand, frozen=True, kw_only=True):
    """Add a schedule. `wording`: the original wording of the timing."""

    plan: e.Plan
    wording: str = ""

    def __call__(self, load: StateLoader) -> DecisionResult:
        if load(self.stream).plan is not None:
            raise Rejected(f"The schedule {self.schedule} exists already.", kind="exists")
        plan = checked(self.plan, load)
        next_due = rule_of(plan).after(self.now, since=self.now)
        if next_due is None:
            raise never_due(plan)
        added = e.ScheduleAdded(
            schedule=self.schedule, plan=plan, by=self.by, next_due=next_due, said=self.wording
        )
        return self.changed(added)


class Edit(ScheduleCommand, frozen=True, kw_only=True):
    """Change the plan. A new timing counts from now on; a due time that had its run is not due again."""

    replan: Replan
    wording: str = ""

    def __call__(self, load: StateLoader) -> DecisionResult:
        schedule, before = self.existing(load)
        plan = checked(self.replan(before), load)
        if plan == before:
            return DecisionResult()
        events: list[e.ScheduleEvent] = []
        next_due = schedule.next_due
        if (plan.timing, plan.timezone) != (before.timing, before.timezone):
            next_due = _next_due(schedule, plan, self.now)
            if next_due is None:
                raise never_due(plan)
            if schedule.next_due is not None and schedule.next_due <= self.now and not schedule.paused:
                events.append(
                    e.ScheduleMissed(
                        schedule=self.schedule, due=schedule.next_due, reason="edited", next_due=next_due
                    )
                )
        edited = e.ScheduleEdited(
            schedule=self.schedule, plan=plan, by=self.by, next_due=next_due, said=self.wording
        )
        return self.changed(*events, edited)


class Pause(ScheduleCommand, frozen=True, kw_only=True):
    """Pause the schedule: nothing is due until it is resumed; running turns continue."""

    def __call__(self, load: StateLoader) -> DecisionResult:
        schedule, _ = self.existing(load)
        if schedule.status == "ended":
            raise Rejected(
                f"The schedule {self.schedule} has had its last run: there is nothing to pause.", kind="ended"
            )
        if schedule.paused:
            return DecisionResult()
        paused = e.SchedulePaused(schedule=self.schedule, by=self.by)
        return self.changed(*withdrawn(schedule, f"paused by {self.by}"), paused)


class Resume(ScheduleCommand, frozen=True, kw_only=True):
    """Resume the schedule: the next due time after now; due times during the pause are skipped."""

    def __call__(self, load: StateLoader) -> DecisionResult:
        schedule, plan = self.existing(load)
        if schedule.status == "active":
            return DecisionResult()
        next_due = _next_due(schedule, plan, self.now) if schedule.paused else None
        if next_due is None and not schedule.queued:
            raise Rejected(
                f"The time of the schedule {self.schedule} has passed ({plan.timing}).",
                kind="ended",
                hint=f"Run it now (`hermes-jobs schedule run {self.schedule}`), or give it another time with "
                f"`hermes-jobs schedule edit {self.schedule} TEXT`.",
                tool_hint="Add a schedule for another time.",
            )
        return self.changed(e.ScheduleResumed(schedule=self.schedule, by=self.by, next_due=next_due))


class Remove(ScheduleCommand, frozen=True, kw_only=True):
    """Remove the schedule: no more runs. Past runs stay in the log; running turns continue."""

    def __call__(self, load: StateLoader) -> DecisionResult:
        schedule, _ = self.existing(load)
        removed = e.ScheduleRemoved(schedule=self.schedule, by=self.by)
        return self.changed(*withdrawn(schedule, f"removed by {self.by}"), removed)


class RunNow(ScheduleCommand, frozen=True, kw_only=True):
    """Run at once, also if the schedule is paused or ended; the clock's due times do not change."""

    run: Run

    def __call__(self, load: StateLoader) -> DecisionResult:
        schedule, plan = self.existing(load)
        if schedule.checking is not None:
            raise Rejected(
                f"The condition of the schedule {self.schedule} is being checked.",
                kind="busy",
                hint=f"See what comes of it: hermes-jobs schedule history {self.schedule}",
            )
        if schedule.running and plan.overlap != "parallel":
            turn = schedule.running[-1]
            raise Rejected(
                f"The schedule {self.schedule} is running already (turn {turn}).",
                kind="busy",
                hint=f"Wait for it (`hermes-jobs turns wait {turn}`), or cancel it first.",
            )
        fired = e.ScheduleFired(
            schedule=self.schedule,
            due=float(int(self.now)),
            turn=self.run.turn,
            session=plan.session or self.run.session,
            next_due=schedule.next_due,
            by=self.by,
        )
        return DecisionResult(
            writes=(submission(schedule, fired, load), StreamEvents(self.stream, (fired,))),
        )


def retargeted(schedule: Schedule, old: str, new: str, by: str) -> tuple[e.ScheduleEdited, ...]:
    """The edit after which its answers go to `new` instead of `old`; none where it has no such target."""
    plan = schedule.plan
    if plan is None or schedule.removed or old not in plan.deliver:
        return ()
    deliver = tuple(dict.fromkeys(new if target == old else target for target in plan.deliver))
    edited = msgspec.structs.replace(plan, deliver=deliver)
    return (e.ScheduleEdited(schedule=schedule.id, plan=edited, by=by, next_due=schedule.next_due),)


def checked(plan: e.Plan, load: StateLoader) -> e.Plan:
    """The plan in canonical form: clean name, canonical targets. Raises `Rejected`."""
    text = plan.text.strip()
    if not text:
        raise Rejected("A schedule needs a task: what is to be done?", kind="usage")
    zone_of(plan.timezone)
    if not 0 <= plan.jitter <= MAX_JITTER:
        raise Rejected(f"A jitter of {plan.jitter:g} s is too long: at most 1d.", kind="usage")
    if plan.session is not None:
        _check_session(plan.session, load)
    deliver = tuple(dict.fromkeys(parse_target(target).text for target in plan.deliver))
    return msgspec.structs.replace(plan, name=clean_name(plan.name), text=text, deliver=deliver)


def never_due(plan: e.Plan) -> Rejected:
    """The error for a timing without any further due time."""
    return Rejected(
        f"{plan.timing!r} in {plan.timezone} is never due from now on.",
        kind="usage",
        hint="Give a time that is still to come.",
    )


def _check_session(lineage: str, load: StateLoader) -> None:
    session: Session = load(sessions.stream_of(lineage))
    if session.version == 0:
        raise Rejected(
            f"There is no session {lineage}.", kind="unknown_session", hint="See `hermes-jobs sessions list`."
        )
    if session.ended_because is not None:
        raise Rejected(
            f"Session {lineage} has ended ({session.ended_because}): no run could continue it.",
            kind="session_ended",
            hint="Leave --session out: each run then has a session of its own.",
        )


def _next_due(schedule: Schedule, plan: e.Plan, now: float) -> float | None:
    """The first due time from now on that had no run, also if the system clock was set back."""
    after = max(now, schedule.fired or now)
    return rule_of(plan).after(after, since=after)
