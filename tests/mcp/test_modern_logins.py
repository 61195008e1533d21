"""A login at a server by the SDK: an authorization server that this project's tests did not write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec

from hermes_jobs.features.mcp.authorization import LoginRequest
from hermes_jobs.features.mcp.bearer import renew
from hermes_jobs.features.mcp.logins import LoginFile
from hermes_jobs.features.mcp.messages import Failed, Launch, Offer, Result, decode_response
from hermes_jobs.features.mcp.servers import Servers
from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.settings.sections.mcp_servers import McpOauth
from tests.mcp.test_eras import called, free_port, listens
from tests.mcp.test_logins import pasted
from tests.tools.support import wait_until

SERVER = Path(__file__).with_name("modern_oauth_server.py")


def test_a_login_at_a_server_by_the_sdk_is_made_used_and_renewed(tmp_path: Path) -> None:
    port = free_port()
    with subprocess.Popen([sys.executable, str(SERVER), str(port)], stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: listens(port), "the server")
        try:
            _log_in_and_call(f"http://127.0.0.1:{port}/mcp", LoginFile(tmp_path / "login.json"), tmp_path)
        finally:
            process.kill()


def _log_in_and_call(url: str, file: LoginFile, folder: Path) -> None:
    servers = Servers(folder / "run")
    launch = Launch(server="sums", folder="", token="", url=url, login=str(file.path))
    refused = servers.list_tools(launch, CancelToken())
    assert isinstance(refused, Failed)
    assert refused.kind == "login"
    login = pasted(LoginRequest(server="sums", url=url, oauth=McpOauth()))
    assert (login.scope, login.resource) == ("add", url)
    file.write(login)
    offer = servers.list_tools(launch, CancelToken())
    assert isinstance(offer, Offer), offer
    for _ in range(3):  # a token ends soon, so each call renews it
        added = called(servers, launch, "add", b'{"a": 20, "b": 22}')
        assert isinstance(added, Result), added
        assert decode_response(added.content)["structuredContent"] == {"result": 42}
    last = file.read()
    assert last is not None
    assert last.refresh_token != login.refresh_token
    servers.close()
    file.write(msgspec.structs.replace(last, refresh_token=login.refresh_token))
    ended = renew(file, last.access_token)
    assert ended is not None
    assert ended.ended == "it was refused: invalid_grant"
