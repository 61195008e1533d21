"""Interfaces for users and programs: command line, chat, chat gateways, MCP server, HTML pages."""
