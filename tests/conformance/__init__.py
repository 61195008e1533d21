"""The official conformance suite of MCP, played with our client and our server (`make conformance`)."""
