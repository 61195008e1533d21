"""Questions at the terminal: approvals, forms of MCP servers, and how keys are read."""
