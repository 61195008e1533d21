"""A server that misbehaves as told, and a pool of servers that ends with its test."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.features.mcp.messages import CallTool, Failed, Launch, Offer, Reply, Result, decode_response
from hermes_jobs.features.mcp.servers import Servers
from hermes_jobs.kernel.engine.in_flight import CancelToken
from tests.tools.support import wait_until

SERVER = Path(__file__).with_name("server.py")


class TestServer:
    """How the test server is started, and what it has done."""

    __test__ = False

    def __init__(self, folder: Path, servers: Servers) -> None:
        self.folder = folder
        self.servers = servers

    def launch(self, *, start_timeout: float = 30.0, idle_seconds: float = 600.0, **env: str) -> Launch:
        return Launch(
            server="test",
            folder="",
            token="",
            command=sys.executable,
            args=("-I", "-S", str(SERVER)),
            env={"PATH": os.environ["PATH"], "MCP_TEST": str(self.folder), **env},
            cwd=str(self.folder),
            start_timeout=start_timeout,
            idle_seconds=idle_seconds,
        )

    def offer(self, launch: Launch | None = None) -> Offer | Failed:
        return self.servers.list_tools(launch or self.launch(), CancelToken())

    def call(
        self,
        tool: str,
        arguments: bytes = b"{}",
        *,
        launch: Launch | None = None,
        timeout: float = 60.0,
        cancel: CancelToken | None = None,
    ) -> Reply:
        asked = CallTool(tool=tool, arguments=arguments, timeout=timeout)
        return self.servers.call(launch or self.launch(), asked, cancel or CancelToken())

    def text(self, reply: Reply) -> str:
        assert isinstance(reply, Result), reply
        return str(decode_response(reply.content)["content"][0]["text"])

    @property
    def starts(self) -> list[int]:
        """The process ids of all its starts."""
        file = self.folder / "starts"
        return [int(each) for each in file.read_text().split()] if file.exists() else []

    @property
    def calls(self) -> list[str]:
        file = self.folder / "calls"
        return file.read_text().splitlines() if file.exists() else []


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until_gone(*pids: int) -> None:
    wait_until(lambda: not any(map(is_alive, pids)), "processes are left")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TestServer]:
    folder = tmp_path / "server"
    folder.mkdir()
    servers = Servers(tmp_path / "run" / "mcp")
    made = TestServer(folder, servers)
    yield made
    servers.close()
    wait_until_gone(*made.starts)
