"""Servers by the official SDK: the specification of 2026-07-28, over stdio and over HTTP."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest, JSONRPCResponse

from hermes_jobs.features.mcp.malformed import MalformedEntries
from hermes_jobs.features.mcp.messages import CallTool, Launch, Offer, Reply, Result, decode_response
from hermes_jobs.features.mcp.servers import Servers
from hermes_jobs.kernel.engine.in_flight import CancelToken
from tests.tools.support import wait_until

SERVER = Path(__file__).with_name("modern_server.py")


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    made = Servers(tmp_path / "mcp")
    yield made
    made.close()


@pytest.fixture
def address() -> Iterator[str]:
    port = free_port()
    with subprocess.Popen([sys.executable, str(SERVER), str(port)], stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: listens(port), "the server")
        yield f"http://127.0.0.1:{port}/mcp"
        process.kill()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def called(servers: Servers, launch: Launch, tool: str, arguments: bytes) -> Reply:
    return servers.call(launch, CallTool(tool=tool, arguments=arguments, timeout=60), CancelToken())


def talk(servers: Servers, launch: Launch) -> None:
    offer = servers.list_tools(launch, CancelToken())
    assert isinstance(offer, Offer), offer
    assert (offer.protocol, offer.instructions) == ("2026-07-28", "Add with care.")
    assert offer.version.startswith("modern")
    assert [each["name"] for each in decode_response(offer.tools)] == ["add", "fail"]
    added = called(servers, launch, "add", b'{"a": 20, "b": 22}')
    assert isinstance(added, Result), added
    assert decode_response(added.content)["structuredContent"] == {"result": 42}
    failed = called(servers, launch, "fail", b"{}")
    assert isinstance(failed, Result), failed
    assert decode_response(failed.content)["isError"] is True
    assert [each["name"] for each in decode_response(offer.prompts)] == ["summary"]
    wanted = b'{"name": "summary", "arguments": {"note": "tea"}}'
    prompt = servers.inquire(launch, "prompt", wanted, 60, CancelToken())
    assert isinstance(prompt, Result), prompt
    assert decode_response(prompt.content)["messages"][0]["content"]["text"] == "Sum up tea."
    listed = servers.inquire(launch, "resources", b"{}", 60, CancelToken())
    assert isinstance(listed, Result), listed
    assert [each["uri"] for each in decode_response(listed.content)["resources"]] == ["note://tea"]
    assert [each["uriTemplate"] for each in decode_response(listed.content)["templates"]] == ["note://{name}"]
    for uri, text in (("note://tea", "Boil water."), ("note://milk", "A note about milk.")):
        found = servers.inquire(launch, "read", json.dumps({"uri": uri}).encode(), 60, CancelToken())
        assert isinstance(found, Result), found
        assert decode_response(found.content)["contents"][0]["text"] == text


@pytest.mark.slow
def test_over_stdio(servers: Servers) -> None:
    env = {"PATH": os.environ["PATH"]}
    launch = Launch(server="a", folder="", token="", command=sys.executable, args=(str(SERVER),), env=env)
    talk(servers, launch)


def test_over_http(servers: Servers, address: str) -> None:
    talk(servers, Launch(server="a", folder="", token="", url=address))


def test_an_address_without_a_server_is_reported(servers: Servers) -> None:
    launch = Launch(server="a", folder="", token="", url="http://127.0.0.1:9/mcp")
    failed = servers.list_tools(launch, CancelToken())
    assert not isinstance(failed, Offer)
    assert failed.kind == "start"
    assert "no connection" in failed.message


@pytest.mark.slow
def test_a_server_that_has_gone_away_and_come_back_is_reached_again(servers: Servers) -> None:
    port = free_port()
    launch = Launch(server="a", folder="", token="", url=f"http://127.0.0.1:{port}/mcp")
    command = [sys.executable, str(SERVER), str(port)]
    for _ in range(2):
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            wait_until(lambda: listens(port), "the server")
            talk(servers, launch)
            process.kill()
        gone = called(servers, launch, "add", b'{"a": 1, "b": 2}')
        assert not isinstance(gone, Result)


def test_a_tool_with_a_header_that_the_specification_forbids_is_named() -> None:
    notes: list[str] = []
    entries = MalformedEntries(lambda: "2026-07-28", notes.append)
    wrong = {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "A"}}}
    tools = [{"name": "bad", "inputSchema": wrong}, {"name": "good", "inputSchema": {"type": "object"}}]
    result: dict[str, Any] = {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    entries.sent(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/list")))
    answer = JSONRPCResponse(jsonrpc="2.0", id=1, result=result)
    entries.received(SessionMessage(answer))
    assert [each["name"] for each in answer.result["tools"]] == ["good"]
    ((name, why),) = entries.pop_tools()
    assert (name, "x-mcp-header" in why) == ("bad", True)
    assert len(notes) == 1
