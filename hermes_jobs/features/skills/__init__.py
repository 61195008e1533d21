"""Skills: procedures that the agent reads and writes, in the form of https://agentskills.io."""

from __future__ import annotations

from pathlib import Path

from hermes_jobs.kernel.feature import Command, Feature

BUNDLED = Path(__file__).parent / "bundled"
"""The bundled skills; a user's skill of the same name replaces one."""

FEATURE = Feature(
    __name__,
    tools="tools:tools",
    prompt="tools:prompt_section",
    tables="tables:projections",
    events="events:StreamEvents",
    streams="streams:STREAMS",
    commands={
        "skills": Command("cli.commands:skills", "Show, install, undo and approve skills.", "Knowledge")
    },
)
