"""Sub-agents: their kinds, and the tool that starts them."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    tools="tools:delegation_tools",
    prompt="tools:prompt_section",
    commands={"agents": Command("cli:agents", "List the kinds of sub-agents.", "Knowledge")},
)
