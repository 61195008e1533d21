"""Files of other clients, as these clients let people write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.agent.mcp.imports import ImportedServer, disabled_by_claude, read, servers_in

VS_CODE = """{
  // asked for once
  "inputs": [{"type": "promptString", "id": "api-key", "password": true},],
  "servers": {
    "web": {"url": "https://a.example/mcp//x,]",
      "headers": {"Authorization": "Bearer ${input:api-key}"}}, /* , */
    "own": {"command": "run", "env": {"PLACE": "${env:HOME}"}},
  },
}"""

CODEX = """
[mcp_servers.own]
command = "run"
enabled = false
startup_timeout_sec = 20
tool_timeout_sec = 60
env_vars = ["LOCAL_TOKEN"]
[mcp_servers.web]
url = "https://a.example/mcp"
bearer_token_env_var = "WEB_TOKEN"
http_headers = { "X-Key" = "a-secret" }
env_http_headers = { "X-Team" = "TEAM" }
"""


def imported(path: Path, text: str) -> dict[str, ImportedServer]:
    path.write_text(text)
    return {server.name: server for server in servers_in(read(path))}


def test_a_file_of_vs_code_may_have_comments_and_last_commas(tmp_path: Path) -> None:
    servers = imported(tmp_path / "mcp.json", VS_CODE)
    assert servers["web"].entry["url"] == "https://a.example/mcp//x,]"
    assert servers["own"].entry == {"command": "run", "env": {"PLACE": "${HOME}"}}


def test_an_input_of_vs_code_is_a_variable_and_no_secret(tmp_path: Path) -> None:
    web = imported(tmp_path / "mcp.json", VS_CODE)["web"]
    assert web.entry["headers"] == {"Authorization": "Bearer ${API_KEY}"}
    assert not web.secrets


def test_the_servers_of_codex_are_taken_over_from_toml(tmp_path: Path) -> None:
    servers = imported(tmp_path / "config.toml", CODEX)
    own = {"command": "run", "enabled": False, "start_timeout": 20, "timeout": 60}
    assert servers["own"].entry == own | {"env": {"LOCAL_TOKEN": "${LOCAL_TOKEN}"}}
    assert servers["web"].entry["headers"] == {
        "X-Key": "${MCP_WEB_X_KEY}",
        "X-Team": "${TEAM}",
        "Authorization": "Bearer ${WEB_TOKEN}",
    }
    assert servers["web"].secrets == {"MCP_WEB_X_KEY": "a-secret"}


@pytest.mark.parametrize(
    ("given", "entry", "left_out"),
    [
        ({"enabled_tools": ["a"], "disabled_tools": ["b"]}, {"include": ["a"], "exclude": ["b"]}, ()),
        ({"tools": {"include": ["a"]}}, {"include": ["a"]}, ()),
        ({"tools": {"exclude": ["b"], "prompts": False}}, {"exclude": ["b"]}, ("tools",)),
        ({"tools": ["a"]}, {}, ("tools",)),
    ],
)
def test_the_tools_that_another_client_uses_are_taken_over(
    tmp_path: Path, given: dict[str, Any], entry: dict[str, Any], left_out: tuple[str, ...]
) -> None:
    text = json.dumps({"mcpServers": {"own": {"command": "run"} | given}})
    own = imported(tmp_path / "mcp.json", text)["own"]
    assert own.entry == {"command": "run"} | entry
    assert own.left_out == left_out


def test_servers_disabled_by_a_claude_code_project_are_off_or_named(tmp_path: Path) -> None:
    own, shared = {"command": "own"}, {"command": "shared"}
    project = {"mcpServers": {"own": own}, "disabledMcpServers": ["own", "shared", "plugin:x:y"]}
    projects = {"/a": project, "/b": {"disabledMcpServers": None}, "/c": "odd"}
    text = json.dumps({"mcpServers": {"shared": shared}, "projects": projects})
    servers = imported(tmp_path / ".claude.json", text)
    assert servers["own"].entry == own | {"enabled": False}
    assert servers["own"].remarks == "off, as in that file"
    assert servers["shared"].entry == shared
    assert servers["shared"].remarks == "on, although it is off in /a"


def test_servers_rejected_in_claude_code_are_off(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".claude").mkdir(parents=True)
    home.mkdir()
    file = project / ".mcp.json"
    names = ("local", "kept", "both", "on", "other")
    file.write_text(json.dumps({"mcpServers": {name: {"command": name} for name in names}}))
    local = {"disabledMcpjsonServers": ["local", "both"], "enabledMcpjsonServers": ["both", "on"]}
    (project / ".claude" / "settings.local.json").write_text(json.dumps(local))
    (project / ".claude" / "settings.json").write_text("no JSON")
    kept = {
        str(project): {"disabledMcpjsonServers": ["kept"]},
        "/else": {"disabledMcpjsonServers": ["other"]},
    }
    (home / ".claude.json").write_text(json.dumps({"projects": kept}))
    found = {each.name: each for each in servers_in(read(file), disabled_by_claude(file, str(home)))}
    assert [name for name in names if found[name].entry.get("enabled") is False] == ["local", "kept", "both"]
    assert found["local"].remarks == "off, as in the settings of Claude Code"
    assert found["on"].remarks == ""
    other = file.rename(project / "mcp.json")
    assert disabled_by_claude(other, str(home)) == frozenset()
