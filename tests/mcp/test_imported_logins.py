"""How other clients write down a login at a server, and what becomes of it here."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hermes_jobs.agent.mcp.config import McpServer
from hermes_jobs.agent.mcp.imports import servers_in

URL = "https://mcp.example.com/mcp"


@pytest.mark.parametrize(
    ("given", "found", "left_out"),
    [
        (
            {"clientId": "mine", "callbackPort": 8123, "authServerMetadataUrl": "https://a.example"},
            {"client_id": "mine", "redirect_uri": "http://localhost:8123/callback"},
            ("oauth.authServerMetadataUrl",),
        ),
        (
            {"client_id": "mine", "client_secret": "hunter2hunter2", "redirect_port": 0, "scope": ""},
            {"client_id": "mine", "client_secret": "${MCP_ISSUES_CLIENT_SECRET}"},
            (),
        ),
        (True, None, ()),
        ({}, None, ()),
    ],
)
def test_a_client_of_another_client_is_taken_over(
    given: object, found: dict[str, Any] | None, left_out: tuple[str, ...]
) -> None:
    (taken,) = servers_in({"mcpServers": {"issues": {"url": URL, "oauth": given}}})
    assert taken.problem == ""
    assert taken.entry.get("oauth") == found
    assert taken.left_out == left_out
    msgspec.convert(taken.entry, McpServer)
    assert "hunter2hunter2" not in str(taken.entry)
