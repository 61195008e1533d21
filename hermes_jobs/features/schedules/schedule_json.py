"""The JSON of a schedule and of its runs. The names are part of the public interface."""

from __future__ import annotations

from datetime import datetime

import msgspec

from hermes_jobs.features.schedules.events import MissedPolicy, MissedReason, OverlapPolicy, Plan, TimingKind
from hermes_jobs.features.schedules.rules.schedule import ScheduleStatus, start_of
from hermes_jobs.features.schedules.rules.timing import TimingInZone, rule_of
from hermes_jobs.features.schedules.tables import RunOutcome, RunView, ScheduleView
from hermes_jobs.kernel.views.turn_json import UsageJson, usage_json

NEXT = 3  # due times that are shown ahead


class RunDeliveryJson(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery of a run's answer."""

    delivery: str
    target: str
    status: str
    message: str


class RunJson(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a due time. Moments are ISO 8601 in the schedule's zone.

    `count` due times to `until` in a row have the same outcome, where they were missed for the same `reason`.
    """

    due: str
    until: str | None
    count: int
    outcome: RunOutcome
    reason: MissedReason | str
    by: str
    turn: str | None
    session: str | None
    message: str
    at: str
    ended_at: str | None
    cost_usd: float | None
    deliveries: tuple[RunDeliveryJson, ...]


class ScheduleJson(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule as scripts see it. `canonical` is its timing, `next` when its next runs start, none while
    it is paused; `running` the turns of its runs; `failures` in a row; `said` how the person put it."""

    schedule: str
    name: str
    status: ScheduleStatus
    kind: TimingKind
    canonical: str
    timezone: str
    task: str
    next: tuple[str, ...]
    session: str | None
    deliver: tuple[str, ...]
    missed: MissedPolicy
    overlap: OverlapPolicy
    model: str | None
    toolsets: tuple[str, ...] | None
    budget_usd: float | None
    workdir: str | None
    jitter_seconds: float
    condition: str | None
    pause_reason: str
    running: tuple[str, ...]
    queued: tuple[str, ...]
    failures: int
    said: str
    added_by: str
    added_at: str
    num_runs: int
    num_missed: int
    num_skipped: int
    num_model_calls: int
    usage: UsageJson
    cost_usd: float | None
    last: RunJson | None


def schedule_json(schedule: ScheduleView, ahead: int = NEXT) -> ScheduleJson:
    """The schedule for scripts, with `ahead` upcoming runs."""
    plan, totals = schedule.plan, schedule.totals
    rule = rule_of(plan)
    return ScheduleJson(
        schedule=schedule.id,
        name=plan.name,
        status=schedule.status,
        kind=plan.kind,
        canonical=plan.timing,
        timezone=plan.timezone,
        task=plan.text,
        next=tuple(moment(rule, due) for due in upcoming(schedule, ahead)),
        session=plan.session,
        deliver=plan.deliver,
        missed=plan.missed,
        overlap=plan.overlap,
        model=plan.model,
        toolsets=plan.toolsets,
        budget_usd=plan.budget_usd,
        workdir=plan.workdir,
        jitter_seconds=plan.jitter,
        condition=None if plan.condition is None else plan.condition.command,
        pause_reason=schedule.pause_reason,
        running=tuple(schedule.running),
        queued=tuple(moment(rule, due) for due in schedule.queued),
        failures=schedule.failures,
        said=schedule.said,
        added_by=schedule.added_by,
        added_at=schedule.added_at,
        num_runs=schedule.num_runs,
        num_missed=schedule.num_missed,
        num_skipped=schedule.num_skipped,
        num_model_calls=totals.num_model_calls,
        usage=usage_json(totals.usage),
        cost_usd=totals.cost_usd,
        last=run_json(rule, schedule.last) if schedule.last is not None else None,
    )


def run_json(rule: TimingInZone, run: RunView) -> RunJson:
    """The outcome of a due time, for scripts."""
    return RunJson(
        due=moment(rule, run.due),
        until=None if run.until is None else moment(rule, run.until),
        count=run.count,
        outcome=run.outcome,
        reason=run.reason,
        by=run.by,
        turn=run.turn,
        session=run.session,
        message=run.message,
        at=run.at,
        ended_at=run.ended_at,
        cost_usd=run.cost_usd,
        deliveries=tuple(
            RunDeliveryJson(
                delivery=delivery.delivery,
                target=delivery.target,
                status=delivery.status,
                message=delivery.message,
            )
            for delivery in run.deliveries
        ),
    )


def upcoming(schedule: ScheduleView, count: int) -> tuple[float, ...]:
    """When the next runs start, at most `count`, with the jitter of each; none while it is paused."""
    if schedule.status != "active":
        return ()
    return starts(schedule.id, schedule.plan, schedule.next_due, count)


def starts(schedule: str, plan: Plan, next_due: float | None, count: int) -> tuple[float, ...]:
    """When the runs from `next_due` on start, at most `count`."""
    return tuple(start_of(schedule, plan, due) for due in rule_of(plan).upcoming(next_due, count))


def moment(rule: TimingInZone, seconds: float) -> str:
    """A moment as ISO 8601 with the zone's offset."""
    return datetime.fromtimestamp(seconds, rule.zone).isoformat()
