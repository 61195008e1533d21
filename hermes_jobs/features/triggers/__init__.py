"""Triggers: named tasks that programs start, such as CI and hooks."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    events="events:TriggerEvent",
    streams="streams:STREAMS",
    queues={"trigger.start": "schedules"},
    steps="steps:handlers",
    tables="tables:projections",
    secrets={"HOOKS_KEY": "the key from which the secrets of hooks are derived"},
    finders={"triggers show": "api:find_trigger"},
    commands={
        "trigger": Command("cli:trigger", "Fire a trigger: start its task, with input.", "Schedule"),
        "triggers": Command(
            "cli:triggers", "Add, change, pause and remove named tasks for CI and hooks.", "Schedule"
        ),
    },
)
