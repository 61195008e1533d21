"""One example of each fact about an MCP server, every field set to something else than its default."""

from __future__ import annotations

from hermes_jobs.features.mcp import events as mcp_events
from hermes_jobs.kernel import events as e

TOOL = mcp_events.McpTool(
    name="read_note",
    description="Read a «note».",
    parameters={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    title="Read",
    read_only=True,
    destructive=False,
    idempotent=True,
)
EXAMPLES: tuple[e.Event, ...] = (
    mcp_events.McpToolsListed(
        server="notes",
        digest="ab" * 16,
        fingerprint="cd" * 16,
        tools=(TOOL,),
        left_out=(mcp_events.McpToolLeftOut(name="no good", reason="its name is illegal"),),
        accepted=False,
        at=1795440458.25,
        protocol="2026-07-28",
        version="notes 1.2",
        instructions="Be gentle.",
        prompts=(
            mcp_events.McpPrompt(
                name="summary",
                description="Sum up a «note».",
                arguments=(
                    mcp_events.McpPromptArgument(name="note", description="Which one", required=True),
                ),
            ),
        ),
    ),
    mcp_events.McpToolsAccepted(server="notes", digest="ab" * 16, by="user"),
    mcp_events.McpServerFailed(
        server="notes",
        fingerprint="cd" * 16,
        message="it ended with exit code 3",
        at=1795440458.25,
        login=True,
    ),
    mcp_events.McpServerRemoved(server="notes", by="user"),
)
