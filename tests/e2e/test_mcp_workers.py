"""Workers of a home with MCP servers: what runs before any of them is wanted, and what is left of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL

import pytest

from hermes_jobs.runtime.broker_address import find_server
from tests.e2e.test_mcp import McpHome
from tests.faults.redis_server import RedisServer
from tests.home import Home
from tests.model_server import ModelServer
from tests.tools.support import processes_with, wait_until


@pytest.fixture
def mcp(home: Home, model_server: ModelServer, tmp_path: Path) -> Iterator[McpHome]:
    with RedisServer(find_server(), tmp_path) as broker:
        home.environ["HERMES_JOBS_BROKER_URL"] = broker.url
        yield McpHome(home, model_server, tmp_path / "server")


def hosts(home: Home) -> list[int]:
    """The processes from which connectors are forked."""
    return processes_with(f"connector_host\0{home.path / 'run' / 'mcp'}")


@pytest.mark.slow
def test_workers_share_the_connector_host_and_leave_no_process(mcp: McpHome) -> None:
    mcp.configure(trusted=True)
    with mcp.home.start("worker") as first, mcp.home.start("worker") as second:
        first.wait_for("ready.")
        second.wait_for("ready.")
        wait_until(lambda: len(hosts(mcp.home)) == 1, "one for both")
        assert mcp.starts == []
        first.signal(SIGKILL)
        first.end()
        wait_until(lambda: len(hosts(mcp.home)) == 1, "the one that the other holds")
        mcp.asks_for(("test__echo", {"text": "hello"}))
        mcp.home.send("Go.")
        assert mcp.results == ["hello"]
        second.signal(SIGKILL)
        second.end()
    wait_until(lambda: processes_with(str(mcp.home.path)) == [], "nothing that works for this home")


@pytest.mark.slow
def test_it_begins_with_the_first_server_and_ends_with_the_last(mcp: McpHome) -> None:
    mcp.home.path.mkdir()
    with mcp.home.start("worker") as worker:
        worker.wait_for("ready.")
        mcp.home.send("Hello.")
        assert hosts(mcp.home) == []
        mcp.configure()
        wait_until(lambda: len(hosts(mcp.home)) == 1, "it begins")
        (mcp.home.path / "config.yaml").write_text(json.dumps({"mcp_servers": {}}))
        wait_until(lambda: hosts(mcp.home) == [], "it ends")
    assert mcp.starts == []
