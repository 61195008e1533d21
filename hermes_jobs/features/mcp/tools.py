"""The tools of a session's MCP servers as `Tool`s: effect, approval, call.

| server      | its description of the tool  | effect     | asks |
|-------------|------------------------------|------------|------|
| trusted     | it only reads                | read       | no   |
| trusted     | idempotent, not destructive  | idempotent | no   |
| trusted     | idempotent                   | idempotent | yes  |
| trusted     | not destructive              | write      | no   |
| trusted     | nothing                      | write      | yes  |
| not trusted | anything                     | write      | yes  |

The configuration may override this for a tool. As for all tools: a call whose worker died is repeated
only if the effect is `read` or `idempotent`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from hermes_jobs.features.mcp.arguments import validated
from hermes_jobs.features.mcp.catalogue import full_name
from hermes_jobs.features.mcp.events import McpTool
from hermes_jobs.features.mcp.messages import CallTool, Failed, Result
from hermes_jobs.features.mcp.server_tasks import Waits
from hermes_jobs.kernel.engine.ports import Cancel, ToolContext, ToolOutcome, Verdict
from hermes_jobs.kernel.events import Effect
from hermes_jobs.kernel.turns.inputs import as_mcp
from hermes_jobs.settings.sections.mcp_servers import McpServer, McpToolSettings
from hermes_jobs.tools.tool import ALLOW, Arguments, CallRules, Tool, shared_resource

TOOLSET = "mcp"
DEFAULT_TOOL_SETTINGS = McpToolSettings()

Call = Callable[[CallTool, ToolContext, Cancel], Result | Waits | Failed]
"""Calls a tool of one server by its own name."""
Shown = Callable[[Result, ToolContext], ToolOutcome]
"""A result as the outcome of the call."""


class McpRules(CallRules):
    """A rule can name one tool, or all tools of a server as `mcp_SERVER`."""

    def __init__(self, server: str) -> None:
        self.group = group_of(server)


def toolset_of(server: str) -> str:
    """The toolset of a server's tools."""
    return f"{TOOLSET}:{server}"


def group_of(server: str) -> str:
    """The name of all tools of a server in approval rules."""
    return f"{TOOLSET}_{server.replace('-', '_').lower()}"


def effect_of(tool: McpTool, config: McpServer) -> Effect:
    """The effect, which decides about a repetition after a worker's crash: the table above."""
    if (own := config.effects.get(tool.name)) is not None:
        return own
    if not config.trusted:
        return "write"
    if tool.read_only:
        return "read"
    return "idempotent" if tool.idempotent else "write"


def needs_approval(tool: McpTool, config: McpServer) -> bool:
    """Whether calls need approval, unless a rule says otherwise."""
    own = config.tools.get(tool.name, DEFAULT_TOOL_SETTINGS)
    if own.ask is not None:
        return own.ask
    if config.effects.get(tool.name) == "read":
        return False
    return not (config.trusted and (tool.read_only or tool.destructive is False))


def make_tool(server: str, tool: McpTool, config: McpServer, call: Call, shown_tool: Shown) -> Tool:
    """The tool with its current configuration and the session's frozen texts."""
    effect, question = effect_of(tool, config), needs_approval(tool, config)
    timeout = config.tools.get(tool.name, DEFAULT_TOOL_SETTINGS).timeout or config.timeout
    reason = "" if config.trusted else ", which is not trusted"

    def guard(_arguments: Arguments, _context: ToolContext) -> Verdict:
        return Verdict("ask", f"a tool of the MCP server {server}{reason}") if question else ALLOW

    def run(arguments: Arguments, context: ToolContext, cancel: Cancel) -> ToolOutcome:
        open_input = context.input
        request = CallTool(
            tool=tool.name,
            arguments=msgspec.json.encode(with_own_names(tool, arguments)),
            timeout=timeout,
            repeatable=effect != "write",
            answers=as_mcp(open_input) if open_input is not None else b"",
            state=open_input.request.state if open_input is not None else None,
        )
        reply = call(request, context, cancel)
        if isinstance(reply, Waits):
            return ToolOutcome(content="", waits=reply)
        if isinstance(reply, Result):
            return shown_tool(reply, context)
        if cancel.reason is not None or reply.kind == "lease":
            return ToolOutcome(content="Interrupted.", ok=False, interrupted=True)
        return ToolOutcome(content=failure_message(server, reply, effect), ok=False)

    return Tool(
        name=full_name(server, tool.name),
        description=tool.description or tool.title,
        parameters=tool.parameters,
        toolset=toolset_of(server),
        effect=effect,
        validate=lambda arguments: validated(tool.parameters, with_new_names(tool, arguments)),
        call=run,
        writes=shared_resource(f"mcp:{server}") if effect == "write" else lambda _arguments: (),
        touches="anything",
        guard=guard,
        rules=McpRules(server),
        outside=lambda _arguments, _context: f"the MCP server {server}",
    )


def with_own_names(tool: McpTool, arguments: Arguments) -> dict[str, Any]:
    """The arguments as the server calls them."""
    return {tool.renamed.get(name, name): value for name, value in arguments.items()}


def with_new_names(tool: McpTool, arguments: Arguments) -> dict[str, Any]:
    """The arguments as the schema calls them: models know the server's own names from its description."""
    new = {own: name for name, own in tool.renamed.items()}
    return {new.get(name, name): value for name, value in arguments.items()}


def failure_message(server: str, failed: Failed, effect: Effect) -> str:
    """The model's message about a call without a result."""
    text = f"Error: the MCP server {server}: {failed.message}."
    if failed.kind == "scope":
        return f"{text} Tell the user."
    if failed.sent and failed.kind in ("bad_result", "too_large"):
        return f"{text} The call was made; what it did has been done."
    if failed.sent and effect != "read":
        text += " What the call did is unknown: look at the state of things before you repeat it."
    if failed.kind in ("start", "ended", "login"):
        text += " Its tools cannot be used now; tell the user, or continue without them."
    if failed.kind in ("start", "ended", "lost") and failed.stderr:
        text += f"\nIts last words on stderr:\n{failed.stderr[-1_000:]}"
    return text
