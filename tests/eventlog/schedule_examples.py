"""One example of each fact of a schedule, every field set to something else than its default."""

from __future__ import annotations

from hermes_jobs.features.conditions.events import Condition
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.usage import Usage

PLAN = schedules_events.Plan(
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
    jitter=300.0,
    condition=Condition(command="test -f mail", folder="/srv", approved=False, asked="reading mail"),
)
EXAMPLES: tuple[e.Event, ...] = (
    schedules_events.ScheduleWorded(
        schedule="p1",
        said="check them when the shops open",
        proposed="every day at 09:00",
        model="m",
        usage=Usage(1, 2, 3, 4, 5),
        cost_usd=0.125,
    ),
    schedules_events.ScheduleAdded(
        schedule="p1", plan=PLAN, by="user", next_due=1_800_000_000.0, said="Check … at 9"
    ),
    schedules_events.ScheduleEdited(
        schedule="p1", plan=PLAN, by="t1", next_due=1_800_000_060.0, said="at 10"
    ),
    schedules_events.SchedulePaused(schedule="p1", by="hermes-jobs", reason="5 runs in a row have failed."),
    schedules_events.ScheduleResumed(schedule="p1", by="user", next_due=1_800_000_120.0),
    schedules_events.ScheduleRemoved(schedule="p1", by="user"),
    schedules_events.ScheduleFired(
        schedule="p1",
        due=1_800_000_000.0,
        turn="t1",
        session="s1",
        next_due=1_800_086_400.0,
        by="user",
        delay=42.0,
        seen="d1",
    ),
    schedules_events.ScheduleChecking(
        schedule="p1",
        due=1_800_000_000.0,
        turn="t1",
        session="s1",
        next_due=1_800_086_400.0,
        delay=42.0,
    ),
    schedules_events.ScheduleSkipped(schedule="p1", due=1_800_000_000.0, message="no mail"),
    schedules_events.ScheduleCheckFailed(schedule="p1", due=1_800_000_000.0, message="exit code 2"),
    schedules_events.ScheduleQueued(schedule="p1", due=1_800_000_000.0, next_due=1_800_086_400.0),
    schedules_events.ScheduleMissed(
        schedule="p1",
        due=1_800_000_000.0,
        reason="overlap",
        next_due=1_800_259_200.0,
        until=1_800_172_800.0,
        count=3,
    ),
    schedules_events.ScheduleRunEnded(
        schedule="p1", turn="t1", status="failed", message="The endpoint is away."
    ),
)
