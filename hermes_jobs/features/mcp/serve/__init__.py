"""hermes-jobs as an MCP server: other agents send turns, wait for them, search and read."""
