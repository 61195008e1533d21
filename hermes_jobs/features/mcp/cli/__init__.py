"""The commands of `mcp`, and resources of servers in texts."""
