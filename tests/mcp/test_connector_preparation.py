"""What connectors are forked from begins ahead of the first call, and only where servers are configured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hermes_jobs.features.mcp.servers import Servers
from hermes_jobs.runtime.connector_preparation import ConnectorPreparation
from hermes_jobs.settings.sections.mcp_servers import McpServer
from tests.mcp.conftest import TestServer
from tests.tools.support import processes_with, wait_until

ON, OFF = McpServer(command="true"), McpServer(command="true", enabled=False)


class Recorded:
    """A host that records what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def prepare(self) -> None:
        self.told.append("prepare")

    def let_host_go(self) -> None:
        self.told.append("let go")


def test_it_is_held_while_a_server_is_on() -> None:
    host, configured = Recorded(), dict[str, McpServer]()
    preparation = ConnectorPreparation(lambda: configured, host)
    for servers in ({}, {"a": OFF}, {"a": OFF, "b": ON}, {"b": ON}, {"b": OFF}, {}):
        configured = servers
        preparation.poll()
    assert host.told == ["prepare", "let go"]


def test_a_worker_s_look_imports_nothing_of_mcp(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from hermes_jobs.settings.sections.mcp_servers import McpServer\n"
        "from hermes_jobs.features.mcp.servers import Servers\n"
        "from hermes_jobs.runtime.connector_preparation import ConnectorPreparation\n"
        "servers = Servers(Path(sys.argv[1], 'none'))\n"
        "ConnectorPreparation(lambda: {}, servers).poll()\n"
        "servers.close()\n"
        "servers = Servers(Path(sys.argv[1], 'one'))\n"
        "ConnectorPreparation(lambda: {'a': McpServer(command='true')}, servers).poll()\n"
        "servers.close()\n"
        "sys.exit('mcp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == 0
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_it_starts_no_server_and_the_first_call_uses_it(server: TestServer) -> None:
    server.servers.prepare()
    mark = f"connector_host\0{server.servers._folder}"
    wait_until(lambda: "host" in server.servers._holds, "the hold")
    (host,) = processes_with(mark)
    assert server.starts == []
    assert server.text(server.call("echo", b'{"text": "hello"}')) == "hello"
    assert host in processes_with(mark)
    server.servers.close()
    wait_until(lambda: processes_with(mark) == [], "its end")


def test_two_workers_have_one(tmp_path: Path) -> None:
    workers = [Servers(tmp_path), Servers(tmp_path)]
    for each in workers:
        each.prepare()
    wait_until(lambda: all("host" in each._holds for each in workers), "both holds")
    assert len(processes_with(f"connector_host\0{tmp_path}")) == 1
    workers[0].close()
    workers[1].let_host_go()
    wait_until(lambda: processes_with(f"connector_host\0{tmp_path}") == [], "its end")
