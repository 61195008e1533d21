"""Tools of MCP servers: processes, catalogues, calls."""
