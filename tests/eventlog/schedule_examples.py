"""One example of each fact of a schedule, every field set to something else than its default."""

from __future__ import annotations

from hermes_jobs.domain import events as e
from hermes_jobs.domain.usage import Usage

PLAN = e.Plan(
    name="Notifications",
    text="Check my notifications «and» summarise them.",
    kind="calendar",
    timing="every weekday at 09:00",
    timezone="Europe/Berlin",
    session="s1",
    deliver=("file:~/notes.md", "cli"),
    missed="all",
    overlap="queue",
    model="m",
    toolsets=("web", "files"),
    budget_usd=0.25,
    workdir="/srv/work",
)
EXAMPLES: tuple[e.Event, ...] = (
    e.ScheduleWorded(
        schedule="p1",
        said="check them when the shops open",
        proposed="every day at 09:00",
        model="m",
        usage=Usage(1, 2, 3, 4, 5),
        cost_usd=0.125,
    ),
    e.ScheduleAdded(schedule="p1", plan=PLAN, by="user", next_due=1_800_000_000.0, said="Check … at 9"),
    e.ScheduleEdited(schedule="p1", plan=PLAN, by="t1", next_due=1_800_000_060.0, said="at 10"),
    e.SchedulePaused(schedule="p1", by="hermes-jobs", reason="5 runs in a row have failed."),
    e.ScheduleResumed(schedule="p1", by="user", next_due=1_800_000_120.0),
    e.ScheduleRemoved(schedule="p1", by="user"),
    e.ScheduleFired(
        schedule="p1",
        due=1_800_000_000.0,
        turn="t1",
        session="s1",
        next_due=1_800_086_400.0,
        by="user",
    ),
    e.ScheduleQueued(schedule="p1", due=1_800_000_000.0, next_due=1_800_086_400.0),
    e.ScheduleMissed(
        schedule="p1",
        due=1_800_000_000.0,
        reason="overlap",
        next_due=1_800_259_200.0,
        until=1_800_172_800.0,
        count=3,
    ),
    e.ScheduleRunEnded(schedule="p1", turn="t1", status="failed", message="The endpoint is away."),
)
