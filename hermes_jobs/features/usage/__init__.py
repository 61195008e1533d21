"""What was spent, by turn, model and day, and the report of it."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    tables="tables:projections",
    commands={
        "usage": Command(
            "cli.usage:usage", "Show tokens and cost by day, session, model, purpose.", "Inspect"
        ),
        "report": Command(
            "cli.report:report", "Show cost, waits, memory and schedules over time.", "Inspect"
        ),
    },
)
