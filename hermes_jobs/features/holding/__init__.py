"""What an agent wants to remember after it has read what others wrote waits for its person (ADR 208)."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    events="events:HoldingEvent",
    streams="streams:STREAMS",
    holding="parts:holding",
    waiting="parts:waiting",
    deciding="parts:deciding",
    tables="tables:projections",
    finders={"held show": "api:find_held"},
    commands={"held": Command("cli:held", "What the agent wants to remember: keep or drop it.", "Knowledge")},
)
