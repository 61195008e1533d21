"""An MCP server by the SDK, over stdio, or over HTTP at a port: `modern_server.py [PORT]`."""

import sys

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("modern", version="2", instructions="Add with care.")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("no such luck")


@server.resource("note://tea", description="How tea is made.")
def tea() -> str:
    """Say how."""
    return "Boil water."


@server.resource("note://{name}", description="Any note.")
def note(name: str) -> str:
    """Say what it is."""
    return f"A note about {name}."


@server.prompt(description="Sum up.")
def summary(note: str) -> str:
    """Ask for it."""
    return f"Sum up {note}."


if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run()
