"""`mcp login` as people use it, and what follows when a login ends: told where people look, and once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.home import Home, Ran, Running
from tests.mcp.oauth_server import OauthServer, browse, oauth_server, visit
from tests.mcp.test_eras import free_port
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import wait_until

NEEDED = "login needed: hermes-jobs mcp login notes (it was refused: invalid_grant)"


@pytest.fixture
def oauth(home: Home) -> Iterator[OauthServer]:
    with oauth_server() as server:
        home.path.mkdir(exist_ok=True)
        entry = {"url": server.mcp, "trusted": True}
        (home.path / "config.yaml").write_text(json.dumps({"mcp_servers": {"notes": entry}}))
        yield server


def address_in(running: Running) -> str:
    found = re.compile(r"^(http\S+/authorize\?\S+)$", re.MULTILINE)
    wait_until(
        lambda: found.search(running.err) is not None or running.process.poll() is not None, "the address"
    )
    shown = found.search(running.err)
    assert shown is not None, running.err
    return shown[1]


def log_in(home: Home) -> Ran:
    with home.start("mcp", "login", "notes", "--no-browser") as running:
        visit(browse(address_in(running)))
        return running.end()


def asks_for(model: ModelServer, tool: str) -> None:
    steps = (Answer(tool_calls=(AskedCall(f"notes__{tool}", {"text": "hello"}),)), Answer(text="Done."))
    model.follow(Script(rules=(Rule("Go", steps),)))


def results(model: ModelServer) -> list[str]:
    return [str(each["content"]) for each in model.requests[-1].messages if each["role"] == "tool"]


def listed(home: Home) -> Any:
    (server,) = home.run("mcp", "list", "--json").json
    return server


def test_a_person_logs_in_and_the_tools_are_there(
    home: Home, oauth: OauthServer, model_server: ModelServer
) -> None:
    tested = home.run("mcp", "test", "notes")
    assert tested.code != 0
    assert "login needed: hermes-jobs mcp login notes" in tested.err
    done = log_in(home)
    assert done.code == 0, done.err
    assert f"Logged in to notes at {oauth.issuer} (notes:read)." in done.err
    assert "notes__echo" in done.out
    asks_for(model_server, "echo")
    home.send("Go.")
    assert results(model_server) == ["hello"]
    shown = listed(home)["login"]
    assert (shown["issuer"], shown["scope"], shown["renews"]) == (oauth.issuer, "notes:read", True)


@pytest.mark.slow
def test_the_address_may_be_pasted(home: Home, oauth: OauthServer) -> None:
    command = [sys.executable, "-m", "hermes_jobs", "mcp", "login", "notes", "--paste"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=home.work, env=home.environ, text=True, **pipes) as process:
        assert process.stderr is not None
        line = next(each for each in process.stderr if "/authorize?" in each)
        back = browse(line.strip())
        assert "Connection refused" in _refusal_of(back)
        process.communicate(f"{back}\n", timeout=60)
    assert process.returncode == 0
    assert listed(home)["tools"] == ["echo", "token", "write"]


def _refusal_of(address: str) -> str:
    with pytest.raises(OSError, match="refused") as refused:
        visit(address)
    return str(refused.value)


@pytest.mark.slow
def test_a_login_by_device_shows_its_code(home: Home, oauth: OauthServer) -> None:
    oauth.pending = ["authorization_pending"]
    done = home.run("mcp", "login", "notes", "--device")
    assert done.code == 0, done.err
    assert "WDJB-MJHT" in done.err
    assert f"{oauth.url}/enter" in done.err


@pytest.mark.slow
def test_a_login_without_a_browser_ends_with_advice(home: Home, oauth: OauthServer) -> None:
    done = home.run("mcp", "login", "notes", "--no-browser", "--timeout", "0.2")
    assert done.code != 0
    assert "No login came back within 0.2 s." in done.err
    assert "--paste" in done.err
    assert oauth.families == []


@pytest.mark.slow
def test_an_ended_login_is_shown_once_in_the_inbox(
    home: Home, oauth: OauthServer, model_server: ModelServer
) -> None:
    log_in(home)
    oauth.revoke()
    asks_for(model_server, "echo")
    home.send("Go.")
    assert results(model_server)[0].startswith(f"Error: the MCP server notes: {NEEDED}.")
    asks_for(model_server, "echo")
    home.send("Go.")
    (told,) = home.run("inbox", "list", "--json").json
    assert told["text"] == f"The MCP server notes cannot be used: {NEEDED}."
    assert listed(home)["away"] == NEEDED
    assert "hermes-jobs mcp login notes" in home.run("mcp", "list").out
    doctor = home.run("doctor", "--json").json
    (found,) = [each for each in doctor["checks"] if each["check"] == "mcp notes"]
    assert (found["status"], found["hint"]) == ("warn", "hermes-jobs mcp login notes")
    assert oauth.refreshes == 1
    assert log_in(home).code == 0
    assert listed(home)["away"] is None
    asks_for(model_server, "echo")
    home.send("Go.")
    assert results(model_server) == ["hello"]


@pytest.mark.slow
def test_tokens_are_in_their_file_and_nowhere_else(
    home: Home, oauth: OauthServer, model_server: ModelServer, tmp_path: Path
) -> None:
    log_in(home)
    asks_for(model_server, "token")
    home.run("send", "--approve", "mcp_notes:*", "--unattended", "Go.")
    assert results(model_server) == ["Bearer [REDACTED]"]
    home.run("doctor")
    (token,) = oauth.tokens
    for secret in (token, oauth.families[0].refresh):
        (file,) = home.files_holding(secret)
        assert file.parent == home.path / "mcp" / "logins"
        assert file.stat().st_mode & 0o777 == 0o600
        for command in (("config", "show"), ("mcp", "show", "notes"), ("events", "--json")):
            assert secret not in home.run(*command).out
    backup = tmp_path / "backup.zip"
    assert home.run("backup", str(backup)).code == 0
    with zipfile.ZipFile(backup) as archive:
        assert not any("mcp/" in name for name in archive.namelist())
        assert not any(token.encode() in archive.read(name) for name in archive.namelist())


@pytest.mark.slow
def test_logging_out_revokes_and_forgets(home: Home, oauth: OauthServer) -> None:
    log_in(home)
    done = home.run("mcp", "logout", "notes", "--json")
    assert done.json["revoked"] is True
    assert oauth.families[0].revoked
    assert listed(home)["login"] is None
    again = home.run("mcp", "logout", "notes")
    assert again.code != 0
    assert "There is no login at notes." in again.err


@pytest.mark.slow
def test_a_removed_server_leaves_no_login(home: Home, oauth: OauthServer) -> None:
    log_in(home)
    assert home.run("mcp", "remove", "notes").code == 0
    assert list((home.path / "mcp" / "logins").iterdir()) == []


def test_a_server_without_a_login_is_refused_with_the_reason(home: Home, oauth: OauthServer) -> None:
    config = {
        "files": {"command": "true"},
        "keyed": {"url": oauth.mcp, "headers": {"Authorization": "${KEY}"}},
    }
    (home.path / "config.yaml").write_text(json.dumps({"mcp_servers": config}))
    assert "it is started here" in home.run("mcp", "login", "files").err
    assert "its entry has an Authorization header" in home.run("mcp", "login", "keyed").err
    unknown = home.run("mcp", "login", "nobody")
    assert "There is no MCP server 'nobody'" in unknown.err


def test_a_secret_of_a_client_is_named_not_written(home: Home, oauth: OauthServer) -> None:
    client = {"client_id": "mine", "client_secret": "hunter2hunter2"}
    entry = {"url": oauth.mcp, "oauth": client}
    (home.path / "config.yaml").write_text(json.dumps({"mcp_servers": {"notes": entry}}))
    refused = home.run("mcp", "list")
    assert "mcp_servers.notes.oauth.client_secret holds a secret" in refused.err
    assert "hunter2" not in refused.err
    client["client_secret"] = "${NOTES_SECRET}"
    (home.path / "config.yaml").write_text(json.dumps({"mcp_servers": {"notes": entry}}))
    assert "NOTES_SECRET is not set" in home.run("mcp", "login", "notes").err
    (home.path / ".env").write_text("NOTES_SECRET=hunter2hunter2\n")
    os.chmod(home.path / ".env", 0o600)  # noqa: PTH101
    back = f"http://127.0.0.1:{free_port()}/callback"
    oauth.clients["mine"] = {"redirect_uris": [back], "secret": "hunter2hunter2"}
    client["redirect_uri"] = back
    (home.path / "config.yaml").write_text(json.dumps({"mcp_servers": {"notes": entry}}))
    assert log_in(home).code == 0


def test_a_client_that_is_registered_there_is_added_with_the_server(home: Home, oauth: OauthServer) -> None:
    given = ("client_id=mine", "client_secret=hunter2hunter2", "redirect_uri=http://127.0.0.1:8123/callback")
    options = [word for each in given for word in ("--oauth", each)]
    added = home.run("mcp", "add", "more", "--no-test", oauth.mcp, *options)
    assert added.code == 0, added.err
    assert "hunter2" not in (home.path / "config.yaml").read_text()
    assert "MCP_MORE_CLIENT_SECRET=hunter2hunter2" in (home.path / ".env").read_text().replace("'", "")
    for wrong in ("client=mine", "redirect_uri=http://elsewhere.example/callback", "client_id"):
        refused = home.run("mcp", "add", "wrong", "--no-test", oauth.mcp, "--oauth", wrong)
        assert refused.code != 0
        assert wrong.split("=")[0] in refused.err
