"""MCP over HTTP at `/mcp`, before the SDK's own client: a key may do what its scopes allow."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import ElicitResult

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.home import Home
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.serve.test_doors import served

pytestmark = pytest.mark.slow

READING = ["turn", "turns", "wait", "search_sessions", "read_memory", "schedules"]
CLEAN = AskedCall("terminal", {"command": "rm -r build"})
SCRIPT = Script(rules=(Rule("Clean", (Answer(tool_calls=(CLEAN,)), Answer(text="Clean."))),))
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@asynccontextmanager
async def client(url: str, key: str, **options: Any) -> AsyncIterator[Any]:
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {key}"})
    async with http, Client(streamable_http_client(f"{url}/mcp", http_client=http), **options) as connected:
        yield connected


def added(home: Home, name: str, *scopes: str) -> str:
    made = home.run("keys", "add", name, *(word for scope in scopes for word in ("--scope", scope)), "--json")
    assert made.code == 0, made.err
    return str(made.json["text"])


def test_a_key_reads_another_one_sends_and_approves_and_strangers_are_refused(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(SCRIPT)
    (home.work / "build").mkdir()
    reading = added(home, "reader", "mcp")
    sending = added(home, "sender", "mcp", "chat", "approve")
    other = added(home, "other", "read")
    with served(home) as (url, _link):
        for era in ("legacy", "auto"):
            anyio.run(_read, url, reading, era)
        anyio.run(_send, url, sending, home)
        _strangers(url, sending, other)
        home.run("keys", "revoke", "reader")
        refused = httpx.post(f"{url}/mcp", json=HELLO, headers={"Authorization": f"Bearer {reading}"})
        assert refused.status_code == 401

    with home.open_log() as log:
        facts = facts_of(log)
    assert [fact.source for fact in facts if isinstance(fact, e.TurnSubmitted)] == ["api:sender"]
    assert [fact.by for fact in facts if isinstance(fact, e.ApprovalGiven)] == ["api:sender"]


async def _read(url: str, key: str, era: str) -> None:
    async with client(url, key, mode=era) as reader:
        assert [tool.name for tool in (await reader.list_tools()).tools] == READING
        listed = await reader.call_tool("turns", {})
        assert listed.structured_content == {"turns": []}
        assert (await reader.call_tool("send", {"text": "Hello"})).is_error


async def _send(url: str, key: str, home: Home) -> None:
    """Given a turn that another process runs: it asks the client, and goes on with its answer."""

    async def allow(_context: Any, _asked: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"answer": "once"})

    async with client(url, key, elicitation_callback=allow, cache=None) as sender:
        named = {"text": "Clean up", "workdir": str(home.work), "key": "k", "wait_seconds": 0}
        sent, again = [(await sender.call_tool("send", named)).structured_content for _ in range(2)]
        assert sent["turn"] == again["turn"]
        with home.start("turns", "wait", sent["turn"]):
            waited = await sender.call_tool("wait", {"turn": sent["turn"], "wait_seconds": 90})
        assert waited.structured_content["result"] == "Clean."


def _strangers(url: str, key: str, other: str) -> None:
    """Whoever has no key, or one without the scope, or asks from another site, is refused."""
    for authorization in ("", "Bearer hj-wrong", "Basic eDp5", f"Bearer {other}"):
        refused = httpx.post(f"{url}/mcp", json=HELLO, headers={"Authorization": authorization})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    own = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
    elsewhere = httpx.post(f"{url}/mcp", json=HELLO, headers={**own, "Origin": "https://evil.example"})
    assert elsewhere.status_code == 403
    rebound = httpx.post(f"{url}/mcp", json=HELLO, headers={**own, "Host": "evil.example"})
    assert rebound.status_code == 421
    for body in (b"{", b"[]", json.dumps({**HELLO, "method": 7}).encode(), b"x" * 2_000_000):
        headers = {**own, "Content-Type": "application/json"}
        assert 400 <= httpx.post(f"{url}/mcp", content=body, headers=headers).status_code < 500
