"""A schedule in words, on one line."""

from __future__ import annotations

from hermes_jobs.domain.schedule.schedule import Schedule
from hermes_jobs.domain.schedule.timing import rule_of


def describe(schedule: Schedule) -> str:
    """Id, name, timing, how it stands, and its task."""
    plan = schedule.plan
    assert plan is not None, f"{schedule.stream} has no plan"
    when = f"{plan.timing}, {plan.timezone}; {describe_status(schedule)}"
    return f"{schedule.id} «{plan.name}»: {when}. Task: {plan.text}"


def describe_status(schedule: Schedule) -> str:
    """When it is due next, or why it is not."""
    plan = schedule.plan
    assert plan is not None, f"{schedule.stream} has no plan"
    if schedule.status == "paused":
        return f"paused ({schedule.pause_reason})" if schedule.pause_reason else "paused"
    if schedule.next_due is None:
        return schedule.status
    return f"next {rule_of(plan).shown(schedule.next_due)}"
