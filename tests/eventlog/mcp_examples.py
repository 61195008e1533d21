"""One example of each fact about an MCP server, every field set to something else than its default."""

from __future__ import annotations

from hermes_jobs.domain import events as e

TOOL = e.McpTool(
    name="read_note",
    description="Read a «note».",
    parameters={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    title="Read",
    read_only=True,
    destructive=False,
    idempotent=True,
)
EXAMPLES: tuple[e.Event, ...] = (
    e.McpToolsListed(
        server="notes",
        digest="ab" * 16,
        fingerprint="cd" * 16,
        tools=(TOOL,),
        left_out=(e.McpToolLeftOut(name="no good", reason="its name is illegal"),),
        accepted=False,
        at=1795440458.25,
        protocol="2026-07-28",
        version="notes 1.2",
        instructions="Be gentle.",
        prompts=(
            e.McpPrompt(
                name="summary",
                description="Sum up a «note».",
                arguments=(e.McpPromptArgument(name="note", description="Which one", required=True),),
            ),
        ),
    ),
    e.McpToolsAccepted(server="notes", digest="ab" * 16, by="user"),
    e.McpServerFailed(
        server="notes",
        fingerprint="cd" * 16,
        message="it ended with exit code 3",
        at=1795440458.25,
        login=True,
    ),
    e.McpServerRemoved(server="notes", by="user"),
)
