"""Conditions: a command decides, before a run, whether there is one."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    events="events:ConditionEvent",
    streams="streams:STREAMS",
    queues={"condition.check": "tools"},
    steps="steps:handlers",
    commands={
        "changed": Command("cli:changed", "Exit with 0 if files have changed since last asked.", "Schedule")
    },
)
