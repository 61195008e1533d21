"""What a shell is offered for MCP servers: from the configuration and what was listed last."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hermes_jobs.interfaces.cli.completion import joined
from tests.cli.test_completion import offered
from tests.mcp.conftest import SERVER
from tests.tools.support import processes_with
from tests.written_home import WrittenHome


@pytest.fixture
def served(home: WrittenHome, tmp_path: Path) -> Path:
    """The folder of the test server, which is configured besides another one."""
    folder = tmp_path / "served"
    folder.mkdir()
    test = {
        "command": sys.executable,
        "args": ["-I", "-S", str(SERVER)],
        "env": {"MCP_TEST": str(folder)},
        "writable": [str(folder)],
        "tools": {"echo": {"ask": False}},
    }
    servers = {"test": test, "tracker": {"url": "https://tracker.example.com/mcp", "enabled": False}}
    (home.path / "config.yaml").write_text(json.dumps({"mcp_servers": servers}))
    return folder


def test_names_of_servers_are_offered(home: WrittenHome, served: Path) -> None:
    for command in ("show", "tools", "test", "accept", "remove", "login", "logout", "resources", "read"):
        assert offered(home, f"hermes-jobs mcp {command} t") == ["test", "tracker"]
    assert offered(home, "hermes-jobs mcp add t") == []
    assert not (served / "starts").exists()
    assert processes_with(str(served)) == []


def test_addresses_are_offered_as_they_were_listed_last(home: WrittenHome, served: Path) -> None:
    assert offered(home, "hermes-jobs mcp read test ") == []
    assert not (served / "starts").exists()
    assert home.run("mcp", "test", "test").code == 0
    starts = (served / "starts").read_text()
    assert offered(home, "hermes-jobs mcp read test ") == ["note://logo", "note://tea", "note://"]
    assert offered(home, "hermes-jobs mcp read test note://t") == ["note://tea"]
    assert offered(home, "hermes-jobs mcp read tracker ") == []
    assert (served / "starts").read_text() == starts
    assert home.run("mcp", "remove", "test").code == 0
    assert not (home.path / "run" / "mcp-resources" / "test.json").exists()


def test_bash_completes_words_after_a_colon(home: WrittenHome, served: Path) -> None:
    assert home.run("mcp", "resources", "test").code == 0
    assert offered(home, "hermes-jobs mcp read test note : //t") == ["//tea"]
    assert offered(home, "hermes-jobs mcp read test note :") == ["//logo", "//tea", "//"]
    assert joined(["a", "b", ":", "c", "::", ""]) == ["a", "b:c::"]
    assert joined([":", "a"]) == [":a"]


def test_parts_of_entries_are_offered_for_settings(home: WrittenHome, served: Path) -> None:
    at = "mcp_servers.test"
    assert f"{at}.timeout" in offered(home, "hermes-jobs config get mcp_servers.")
    assert offered(home, f"hermes-jobs config set {at}.ti") == [f"{at}.timeout"]
    assert offered(home, f"hermes-jobs config unset {at}.env.") == [f"{at}.env.MCP_TEST"]
    assert offered(home, f"hermes-jobs config set {at}.tools.echo.a") == [f"{at}.tools.echo.ask"]
    oauth = offered(home, "hermes-jobs config set mcp_servers.tracker.oauth.")
    assert oauth == [
        f"mcp_servers.tracker.oauth.{each}"
        for each in ("client_id", "client_secret", "redirect_uri", "scope")
    ]
    assert offered(home, f"hermes-jobs config set {at}.trusted ") == ["true", "false"]
    assert f"{at}.timeout" not in offered(home, "hermes-jobs config set ")


def test_nothing_is_offered_where_the_configuration_is_wrong(home: WrittenHome) -> None:
    (home.path / "config.yaml").write_text("mcp_servers: [")
    assert offered(home, "hermes-jobs mcp show ") == []
    assert offered(home, "hermes-jobs config set mcp_servers.") == []
