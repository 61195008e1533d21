"""Tasks that start by the clock."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    tools="tools:schedule_tools",
    tables="tables:projections",
    events="events:ScheduleEvent",
    streams="streams:STREAMS",
    turn_end="rules.run_ends:run_ended",
    finders={"schedule show": "cli.list:find_schedule"},
    queues={"schedule.fire": "schedules", "schedule.check": "tools"},
    steps="steps:handlers",
    commands={
        "schedule": Command(
            "cli.commands:schedule", "Add, preview, list, pause and run scheduled prompts.", "Schedule"
        )
    },
)
