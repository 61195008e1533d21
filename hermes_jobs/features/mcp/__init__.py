"""Tools of MCP servers: processes, catalogues, calls."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    events="events:McpEvent",
    streams="streams:STREAMS",
    commands={"mcp": Command("cli.commands:mcp", "Add, list and test MCP servers.", "Set up")},
)
