"""The memory across sessions: entries in files that users read and edit, and external providers."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    steps="steps:handlers",
    tools="tools:memory_tools",
    prompt="tools:prompt_sections",
    upkeep="upkeep:curate",
    tables="tables:projections",
    events="events:MemoryEvent",
    streams="streams:STREAMS",
    commands={
        "memory": Command(
            "cli.commands:memory", "Show, change and undo what the agent remembers.", "Knowledge"
        )
    },
)
