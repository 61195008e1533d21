"""Tools of MCP servers: their processes, their catalogues, and their calls."""
